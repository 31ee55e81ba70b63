package io.github.onnxplain;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.github.onnxplain.v1.Model;
import io.github.onnxplain.v1.Table;
import io.github.onnxplain.v1.UploadTableRequest.Format;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The bytes of files inside messages, of which no copy is made. */
final class Content {
    private static final String UNKNOWN = "sha256:" + "0".repeat(64);

    private Content() {}

    /** Tells whether a Model or Table has a file inside, which could be uploaded. */
    static boolean isFile(Message file) {
        return file instanceof Model model
                ? model.getSourceCase() == Model.SourceCase.CONTENT
                : format((Table) file) != Format.FORMAT_UNSPECIFIED;
    }

    /** Returns the bytes of the file; none where it is not sent as one. */
    static ByteString of(Message file) {
        if (file instanceof Model model) {
            return model.getContent();
        }
        Table table = (Table) file;
        return switch (table.getSourceCase()) {
            case ARROW -> table.getArrow();
            case PARQUET -> table.getParquet();
            case CSV -> table.getCsv();
            default -> ByteString.EMPTY;
        };
    }

    /** Returns the format of a table's file; unspecified where it is none. */
    static Format format(Table table) {
        return switch (table.getSourceCase()) {
            case ARROW -> Format.ARROW;
            case PARQUET -> Format.PARQUET;
            case CSV -> Format.CSV;
            default -> Format.FORMAT_UNSPECIFIED;
        };
    }

    /** Returns the id that a server gives to a file. */
    static String id(ByteString content) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            content.asReadOnlyByteBufferList().forEach((ByteBuffer part) -> digest.update(part));
            return "sha256:" + HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("every Java has SHA-256", impossible);
        }
    }

    /**
     * Returns the id that a server gives to a Model or Table. What a model in several files is in one piece is the
     * server's to know: its id is one that no server has, so that it is uploaded.
     */
    static String id(Message file) {
        return hasFiles(file) ? UNKNOWN : id(of(file));
    }

    /** Tells whether a Model or Table has files beside it. */
    static boolean hasFiles(Message file) {
        return file instanceof Model model && model.getFilesCount() > 0;
    }

    /** Cuts a file into parts of so many bytes; an empty file has a part too. */
    static Stream<ByteString> parts(ByteString content, int size) {
        int count = Math.max(1, (int) ((content.size() + (long) size - 1) / size));
        return IntStream.range(0, count)
                .mapToObj(part -> content.substring(part * size, (int) Math.min(content.size(), (part + 1L) * size)));
    }
}
