package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onnxplain.v1.DescribeModelRequest;
import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.Table;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Files that are sent once, in parts, and named by their id afterwards. */
class UploadTest {
    private static final byte[] CSV = "a,b\n1,2\n3,4\n".getBytes(StandardCharsets.UTF_8);

    private FakeServer server;
    private OnnxplainClient client;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer();
        client = server.client();
    }

    @AfterEach
    void stop() {
        client.close();
        server.close();
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(1).nextBytes(bytes);
        return bytes;
    }

    @Test
    void partsHaveAMebibyteAtMost() {
        ModelSource model = client.uploadModel(Models.stream(new ByteArrayInputStream(random(2_500_000))));

        assertEquals(List.of(1 << 20, 1 << 20, 2_500_000 - (2 << 20)), server.parts);
        assertEquals(Models.bytes(random(2_500_000)).message(), server.kept.get(model.id()));
    }

    @Test
    void partsAreNoLargerThanMessagesMayBe() {
        try (OnnxplainClient small = server.client(settings -> settings.messageLimit(4096))) {
            small.uploadModel(Models.bytes(random(5000)));
        }

        assertEquals(List.of(2048, 2048, 904), server.parts);
    }

    @Test
    void emptyFilesAreSentToo() {
        client.uploadModel(Models.bytes(new byte[0]));

        assertEquals(List.of(0), server.parts);
    }

    @Test
    void tablesKeepTheirFormat() {
        TableSource csv = client.uploadTable(Tables.bytes(CSV));
        byte[] parquet = "PAR1...".getBytes(StandardCharsets.UTF_8);
        TableSource table = client.uploadTable(Tables.bytes(parquet));

        assertEquals(Table.SourceCase.CSV, ((Table) server.kept.get(csv.id())).getSourceCase());
        assertEquals(Table.SourceCase.PARQUET, ((Table) server.kept.get(table.id())).getSourceCase());
    }

    @Test
    void callsNameWhatWasUploaded() {
        ModelSource model = client.uploadModel(Models.bytes(random(100)));
        TableSource table = client.uploadTable(Tables.bytes(CSV));

        client.explain(ExplainCall.builder().model(model).table(table).build());

        ExplainRequest asked = (ExplainRequest) server.asked.get(0);
        assertEquals(model.id(), asked.getModel().getId());
        assertEquals(table.id(), asked.getTable().getId());
    }

    @Test
    void whatTheServerHasNoLongerIsUploadedAgain() {
        ModelSource model = client.uploadModel(Models.bytes(random(100)));
        TableSource table = client.uploadTable(Tables.bytes(CSV));
        server.kept.clear();

        client.explain(ExplainCall.builder().model(model).table(table).build());

        assertEquals(2, server.kept.size());
        assertEquals(3, server.asked.size());
    }

    @Test
    void whatTheServerDoesNotKeepIsUploadedAgainOnce() {
        ModelSource model = client.uploadModel(Models.bytes(random(100)));
        server.forgets = true;

        ExplainException error = assertThrows(ExplainException.class, () -> client.describe(model));

        assertEquals("BLOB_NOT_FOUND", error.getReason());
        assertEquals(2, server.parts.size());
    }

    @Test
    void whatIsNotAtHandStaysMissing() {
        ExplainCall call = ExplainCall.builder().model(Models.id("sha256:00")).build();

        ExplainException error = assertThrows(ExplainException.class, () -> client.explain(call));

        assertEquals("BLOB_NOT_FOUND", error.getReason());
        assertEquals("model.id", error.getField());
    }

    @Test
    void largeRequestsNameTheirLargestFileByThemselves() {
        ModelSource model = Models.bytes(random(9000));
        ExplainCall call =
                ExplainCall.builder().model(model).table(Tables.bytes(CSV)).build();

        try (OnnxplainClient small = server.client(settings -> settings.messageLimit(8192))) {
            small.explain(call);
            small.explain(call);
        }

        ExplainRequest last = (ExplainRequest) server.asked.get(server.asked.size() - 1);
        assertEquals(model.message(), server.kept.get(last.getModel().getId()));
        assertEquals(call.request().getTable(), last.getTable());
        assertEquals(3, server.parts.size(), "the second call asks whether it is still there");
    }

    @Test
    void largeModelsAreDescribedToo() {
        try (OnnxplainClient small = server.client(settings -> settings.messageLimit(8192))) {
            assertEquals(
                    List.of("y"), small.describe(Models.bytes(random(9000))).getOutputNamesList());
        }
        assertTrue(((DescribeModelRequest) server.asked.get(1)).getModel().hasId());
    }

    @Test
    void whatIsNoFileCannotBeUploaded() {
        TableSource columns = Tables.columns(Map.of("a", List.of(1)));

        assertThrows(IllegalArgumentException.class, () -> client.uploadTable(columns));
        assertThrows(IllegalArgumentException.class, () -> client.uploadModel(Models.id("sha256:00")));
    }
}
