package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onnxplain.v1.ModelFile;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files beside a model: those that it names below its folder, and no others. */
class ExternalDataTest {
    @TempDir
    Path outside;

    private Path folder;

    @BeforeEach
    void write() throws IOException {
        folder = Files.createDirectories(outside.resolve("models/w")).getParent();
        Files.writeString(outside.resolve("secret"), "secret");
        Files.writeString(folder.resolve("w/net.data"), "values");
    }

    /** Writes what a model begins with that has values in files of these names. */
    private Path model(String... names) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        content.writeBytes("a model".getBytes(StandardCharsets.US_ASCII));
        for (String name : names) {
            content.writeBytes("\n\blocation\022".getBytes(StandardCharsets.US_ASCII));
            content.write(name.length());
            content.writeBytes(name.getBytes(StandardCharsets.US_ASCII));
        }
        return Files.write(folder.resolve("model.onnx"), content.toByteArray());
    }

    @Test
    void filesBelowTheFolderGoWithTheModel() throws IOException {
        Path path = model("w/net.data", "../secret", "/etc/hostname", "w/net.data");

        List<ModelFile> files = Models.file(path).message().getFilesList();

        assertEquals(
                List.of("w/net.data"), files.stream().map(ModelFile::getName).toList());
        assertEquals("values", files.get(0).getContent().toStringUtf8());
    }

    @Test
    void aMissingFileIsNamedWithItsFolder() throws IOException {
        Path path = model("other.data");

        ExplainException error = assertThrows(ExplainException.class, () -> Models.file(path));

        assertEquals("EXTERNAL_DATA", error.getReason());
        assertTrue(error.getMessage().contains("other.data"), error.getMessage());
        assertTrue(error.getMessage().contains(folder.toString()), error.getMessage());
    }

    @Test
    void aLinkOutOfTheFolderIsNotFollowed() throws IOException {
        Path path = model("link");
        Files.createSymbolicLink(folder.resolve("link"), outside.resolve("secret"));

        ExplainException error = assertThrows(ExplainException.class, () -> Models.file(path));

        assertEquals("EXTERNAL_DATA", error.getReason());
    }

    @Test
    void aModelOverTheLimitIsUploadedWithItsFiles() throws IOException {
        Files.writeString(folder.resolve("w/net.data"), "v".repeat(5_000));
        Path path = model("w/net.data");
        try (FakeServer server = new FakeServer();
                OnnxplainClient client = server.client(settings -> settings.messageLimit(4_096))) {
            client.describe(Models.file(path));

            assertEquals(1, server.kept.size());
        }
    }
}
