package io.github.onnxplain;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import io.github.onnxplain.v1.ModelFile;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Files beside a model, which it names for values of its tensors. */
final class ExternalData {
    /**
     * How an ONNX file begins to name another one: the entry "location" of a tensor's field external_data. The name
     * follows.
     */
    private static final byte[] LOCATION = "\n\blocation\022".getBytes(StandardCharsets.US_ASCII);

    private static final String PARENT = "..";

    private ExternalData() {}

    /**
     * Reads the files that a model names, in its folder or below. Names that lead elsewhere are left to the server,
     * which refuses them.
     *
     * @throws ExplainException where a file cannot be read, or a link leads out of the folder
     */
    static List<ModelFile> beside(byte[] content, Path folder) {
        return names(content).stream()
                .filter(ExternalData::isBelow)
                .map(name -> file(folder, name))
                .toList();
    }

    /** Returns the names of the files with values of a model, each once. */
    static Set<String> names(byte[] content) {
        Set<String> names = new LinkedHashSet<>();
        int last = content.length - LOCATION.length;
        for (int at = 0; at < last; at++) {
            if (content[at] == LOCATION[0]
                    && Arrays.equals(content, at, at + LOCATION.length, LOCATION, 0, LOCATION.length)) {
                int start = at + LOCATION.length;
                try {
                    names.add(CodedInputStream.newInstance(content, start, content.length - start)
                            .readString());
                } catch (IOException noName) {
                    // What is no model is the server's to refuse.
                    continue;
                }
            }
        }
        return names;
    }

    private static boolean isBelow(String name) {
        return !name.isEmpty()
                && !name.startsWith("/")
                && !name.contains(":")
                && !Arrays.asList(name.split("[/\\\\]")).contains(PARENT);
    }

    private static ModelFile file(Path folder, String name) {
        try {
            Path root = folder.toRealPath();
            Path path = root.resolve(name).toRealPath();
            if (!path.startsWith(root) || !Files.isRegularFile(path)) {
                throw new IOException("it leads out of the folder, or is no file");
            }
            try (InputStream stream = Files.newInputStream(path)) {
                return ModelFile.newBuilder()
                        .setName(name)
                        .setContent(ByteString.readFrom(stream))
                        .build();
            }
        } catch (IOException | InvalidPathException error) {
            String message = "the model has values in the file \"" + name + "\", which cannot be read in " + folder
                    + ": " + error;
            throw new ExplainException(
                    "EXTERNAL_DATA", message, "model.files", Status.Code.INVALID_ARGUMENT, null, error);
        }
    }
}
