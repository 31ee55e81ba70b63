package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import io.github.onnxplain.v1.PartialExplanation;
import io.grpc.Status.Code;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Plans, and explanations that the server computes and keeps. */
@Timeout(120)
class OperationTest {
    private static final ExplainCall CALL = ExplainCall.builder().seed(5).build();

    private FakeOperations server;
    private OnnxplainClient client;

    @BeforeEach
    void start() throws IOException {
        server = new FakeOperations();
        client = server.client();
    }

    @AfterEach
    void stop() {
        client.close();
        server.close();
    }

    @Test
    void anOperationIsStartedAwaitedAndRead() {
        List<Double> told = new ArrayList<>();
        Operation operation = client.start(CALL);

        assertTrue(operation.await(null, (done, planned) -> told.add(done)));

        assertEquals(List.of(1.0, 2.0, 3.0), told);
        assertEquals(server.answer, operation.result().message());
        assertEquals(List.of("read 0", "read 5"), server.called);
        assertEquals(5, server.started.get(0).getRequest().getSeed());
    }

    @Test
    void anAnswerThatBreaksOffBehindItsLastByteIsWhole() {
        server.breaksAtTheEnd = true;

        assertEquals(server.answer, client.start(CALL).await().result().message());
        assertEquals(2, server.called.size());
    }

    @Test
    void anAnswerThatCameWithTheOperationIsNotRead() {
        server.endsInline = true;

        assertEquals(server.answer, client.start(CALL).result().message());
        assertEquals(List.of(), server.called);
    }

    @Test
    void aWaitOfNoTimeAsksOnce() {
        assertFalse(client.start(CALL).await(Duration.ZERO, null));

        assertEquals(1, server.waits.get());
    }

    @Test
    void eachStartHasANameOfItsOwnUnlessItIsGiven() {
        client.start(CALL);
        client.start(CALL);
        client.start(CALL, StartOptions.NONE.withRequestId("nightly-1").withLabel("team", "risk"));

        List<String> names =
                server.started.stream().map(request -> request.getRequestId()).toList();
        assertNotEquals(names.get(0), names.get(1));
        assertEquals("nightly-1", names.get(2));
        assertEquals(Map.of("team", "risk"), server.started.get(2).getLabelsMap());
    }

    @Test
    void theErrorOfAnOperationIsThatOfACall() {
        server.failure = com.google.rpc.Status.newBuilder()
                .setCode(Code.INVALID_ARGUMENT.value())
                .setMessage("no x")
                .addDetails(Any.pack(FakeServer.reason("UNKNOWN_FEATURE")))
                .addDetails(Any.pack(FakeServer.field("methods[0].interactions.features")))
                .build();
        Operation operation = client.operation("operations/1");
        assertEquals(Optional.empty(), operation.error());

        ExplainException error = assertThrows(ExplainException.class, operation::result);

        assertEquals("UNKNOWN_FEATURE", error.getReason());
        assertEquals("no x", error.getMessage());
        assertEquals("methods[0].interactions.features", error.getField());
        assertEquals(Code.INVALID_ARGUMENT, error.getCode());
    }

    @Test
    void operationsOfAllPagesAreListedCancelledAndDeleted() {
        for (Operation operation : client.operations("done = false")) {
            operation.cancel();
            operation.delete();
        }

        assertEquals(
                List.of(
                        "list done = false",
                        "cancel operations/1",
                        "delete operations/1",
                        "list done = false empty",
                        "list done = false last",
                        "cancel operations/1",
                        "delete operations/1"),
                server.called);
    }

    @Test
    void partsThatBreakOffAreReadAgain() {
        PartialExplanation first =
                PartialExplanation.newBuilder().setIsFinal(true).build();
        PartialExplanation second = PartialExplanation.newBuilder().setIndex(1).build();
        server.parts = List.of(first, second);

        List<ExplainEvent.Partial> found = client.operation("operations/1").partials();

        assertEquals(
                List.of(0, 1), found.stream().map(ExplainEvent.Partial::index).toList());
        assertEquals(
                List.of(true, false),
                found.stream().map(ExplainEvent.Partial::isFinal).toList());
    }

    @Test
    void thereMayBeNoParts() {
        assertEquals(List.of(), client.operation("operations/1").partials());
    }

    @Test
    void anInterruptEndsTheWait() {
        Operation operation = client.start(CALL);
        Thread.currentThread().interrupt();

        ExplainException error = assertThrows(ExplainException.class, operation::await);

        assertTrue(Thread.interrupted());
        assertEquals(Code.CANCELLED, error.getCode());
    }

    @Test
    void aListenerBelongsToTheWait() {
        ExplainCall call = ExplainCall.builder().progress((done, planned) -> {}).build();

        assertThrows(IllegalArgumentException.class, () -> client.start(call));
        assertEquals(List.of(), server.started);
    }

    @Test
    void aPlanIsTold() {
        assertEquals(5, client.plan(CALL).getPredictedRowCount());
    }
}
