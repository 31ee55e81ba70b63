package io.github.onnxplain;

import com.google.protobuf.ByteString;
import io.github.onnxplain.v1.Model;
import io.github.onnxplain.v1.RemoteModel;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Models of several kinds.
 *
 * <pre>{@code
 * ModelSource model = Models.file(Path.of("model.onnx"));
 * }</pre>
 */
public final class Models {
    private Models() {}

    /**
     * Reads a file, and the files that it names for values of its tensors, in its folder or below.
     *
     * @param path of an ONNX file
     * @return the model, with the bytes of the files
     * @throws UncheckedIOException where the file cannot be read
     * @throws ExplainException where another one cannot be read; the reason is {@code EXTERNAL_DATA}
     */
    public static ModelSource file(Path path) {
        try {
            byte[] content = Files.readAllBytes(path);
            Path folder = path.toAbsolutePath().getParent();
            Model.Builder model = Model.newBuilder().setContent(ByteString.copyFrom(content));
            return new ModelSource(
                    model.addAllFiles(ExternalData.beside(content, folder)).build(), null);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Takes the bytes of a file.
     *
     * @param content of an ONNX file
     * @return the model, with a copy of the bytes
     */
    public static ModelSource bytes(byte[] content) {
        return of(ByteString.copyFrom(content));
    }

    /**
     * Reads a stream to its end. The bytes are kept: attempts may be needed.
     *
     * @param stream of the bytes of an ONNX file; left open
     * @return the model, with the bytes
     * @throws UncheckedIOException where the stream cannot be read
     */
    public static ModelSource stream(InputStream stream) {
        try {
            return of(ByteString.readFrom(stream));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Names a model that was uploaded, by this caller, to this server.
     *
     * @param id what {@link ModelSource#id} told
     * @return the model, without its bytes: where the server has it no longer, calls fail with {@code BLOB_NOT_FOUND}
     */
    public static ModelSource id(String id) {
        return new ModelSource(Model.newBuilder().setId(id).build(), null);
    }

    /**
     * Names a model that the server reads where it lies, below a prefix that its operator lists.
     *
     * @param uri such as {@code "s3://models/churn.onnx"} or {@code "models:/churn@champion"}
     * @return the model, without its bytes
     */
    public static ModelSource uri(String uri) {
        return uri(uri, "");
    }

    /**
     * Names a model likewise, with a given content.
     *
     * @param uri see {@link #uri(String)}
     * @param sha256 digest of the file, as 64 hexadecimal digits: another file is refused with {@code SOURCE_CHANGED}
     * @return the model, without its bytes
     */
    public static ModelSource uri(String uri, String sha256) {
        return new ModelSource(Model.newBuilder().setUri(uri).setSha256(sha256).build(), null);
    }

    /**
     * Names a model behind an address, below a prefix that the operator of the server lists: the server asks it for
     * predictions.
     *
     * @param remote address, protocol and name, and what its server does not tell
     * @return the model
     */
    public static ModelSource remote(RemoteModel remote) {
        return new ModelSource(Model.newBuilder().setRemote(remote).build(), null);
    }

    private static ModelSource of(ByteString content) {
        return new ModelSource(Model.newBuilder().setContent(content).build(), null);
    }
}
