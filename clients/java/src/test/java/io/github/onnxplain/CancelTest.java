package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status.Code;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whoever leaves ends the computation. */
@Timeout(120)
class CancelTest {
    private static final ExplainCall CALL = ExplainCall.builder().build();

    private FakeServer server;
    private OnnxplainClient client;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer();
        server.answers = false;
        client = server.client();
    }

    @AfterEach
    void stop() {
        client.close();
        server.close();
    }

    @Test
    void cancellingTheFutureCancelsTheCall() throws InterruptedException {
        CompletableFuture<Explanations> future = client.explainAsync(CALL);
        server.begun.await();

        assertTrue(future.cancel(true));

        assertTrue(server.seesCancellation());
    }

    @Test
    void closingTheEventsCancelsTheCall() throws InterruptedException {
        ExplainEvents events = client.explainStream(CALL);
        server.begun.await();

        events.close();

        assertTrue(server.seesCancellation());
        assertFalse(events.iterator().hasNext());
    }

    @Test
    void leavingTheLoopOverEventsCancelsTheCall() throws InterruptedException {
        server.progress = List.of(FakeServer.step(1, 2));

        try (ExplainEvents events = client.explainStream(CALL)) {
            for (ExplainEvent event : events) {
                assertEquals(new ExplainEvent.Progress(1, 2), event);
                break;
            }
        }

        assertTrue(server.seesCancellation());
    }

    @Test
    void interruptingTheThreadCancelsTheCall() throws InterruptedException {
        CompletableFuture<ExplainException> thrown = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            thrown.complete(assertThrows(ExplainException.class, () -> client.explain(CALL)));
            assertTrue(Thread.currentThread().isInterrupted());
        });
        thread.start();
        server.begun.await();

        thread.interrupt();

        assertTrue(server.seesCancellation());
        assertEquals("CANCELLED", thrown.join().getReason());
    }

    @Test
    void closingTheClientEndsItsCalls() throws InterruptedException {
        CompletableFuture<Explanations> future = client.explainAsync(CALL);
        server.begun.await();

        client.close();

        ExecutionException error = assertThrows(ExecutionException.class, future::get);
        assertEquals("CANCELLED", ((ExplainException) error.getCause()).getReason());
        assertTrue(server.seesCancellation());
        assertThrows(IllegalStateException.class, () -> client.explain(CALL));
    }

    @Test
    void closingTheClientEndsPauses() throws InterruptedException {
        server.failures.add(FakeServer.failure(Code.UNAVAILABLE, FakeServer.after(Duration.ofHours(1))));
        CompletableFuture<Explanations> future = client.explainAsync(CALL);
        server.begun.await();

        client.close();

        ExecutionException error = assertThrows(ExecutionException.class, future::get);
        assertEquals("CANCELLED", ((ExplainException) error.getCause()).getReason());
    }

    @Test
    void theDeadlineEndsTheCall() throws InterruptedException {
        ExplainCall call = ExplainCall.builder().timeout(Duration.ofMillis(200)).build();

        ExplainException error = assertThrows(ExplainException.class, () -> client.explain(call));

        assertEquals("DEADLINE_EXCEEDED", error.getReason());
        assertTrue(server.seesCancellation());
    }

    @Test
    void theClientsTimeHoldsForCallsThatNameNone() {
        try (OnnxplainClient hasty = server.client(settings -> settings.timeout(Duration.ofMillis(200)))) {
            ExplainException error =
                    assertThrows(ExplainException.class, () -> hasty.describe(Models.bytes(new byte[1])));

            assertEquals("DEADLINE_EXCEEDED", error.getReason());
        }
    }

    @Test
    void whatAListenerThrowsEndsTheCallAndIsThrown() throws InterruptedException {
        server.progress = List.of(FakeServer.step(1, 2));
        ExplainCall call = ExplainCall.builder()
                .progress((done, planned) -> {
                    throw new IllegalStateException("enough");
                })
                .build();

        assertEquals(
                "enough",
                assertThrows(IllegalStateException.class, () -> client.explain(call))
                        .getMessage());
        assertTrue(server.seesCancellation());
    }

    @Test
    void whoGoesOnAfterACallMayCallAgain() {
        server.answers = true;

        CompletableFuture<Explanations> second =
                client.explainAsync(CALL).thenCompose(first -> client.explainAsync(CALL));

        assertEquals(0, second.join().results().size());
    }
}
