package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What may pass is tried again, and nothing else. */
class RetryTest {
    private static final ExplainCall CALL = ExplainCall.builder().seed(3).build();
    private static final StatusRuntimeException AWAY = FakeServer.failure(Code.UNAVAILABLE);

    private FakeServer server;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer();
    }

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void whatMetNobodyIsTriedAgain() {
        server.failures.addAll(Collections.nCopies(2, AWAY));

        try (OnnxplainClient client = server.client()) {
            assertEquals(3, client.explain(CALL).receipt().getSeed());
        }
        assertEquals(3, server.asked.size());
    }

    @Test
    void whatAClosingServerCutOffIsTriedAgain() {
        server.failures.add(
                Code.CANCELLED.toStatus().withDescription("CANCELLED").asRuntimeException());

        try (OnnxplainClient client = server.client()) {
            assertEquals(3, client.explain(CALL).receipt().getSeed());
        }
        assertEquals(2, server.asked.size());
    }

    @Test
    void aServerThatComesBackIsMetByTheNextAttempt() throws IOException {
        int port = freePort();
        List<Server> started = new ArrayList<>();
        AtomicInteger attempts = new AtomicInteger();
        Supplier<String> token = () -> {
            if (attempts.incrementAndGet() == 2) {
                started.add(listen(port));
            }
            return "secret";
        };

        try (OnnxplainClient client = Onnxplain.connect("localhost:" + port)
                .token(token)
                .retryCount(1)
                .build()) {
            assertEquals(3, client.explain(CALL).receipt().getSeed());
        } finally {
            started.forEach(Server::shutdownNow);
        }
    }

    @Test
    void attemptsAreCounted() {
        server.failures.addAll(Collections.nCopies(5, AWAY));

        try (OnnxplainClient client = server.client(settings -> settings.retryCount(1))) {
            assertThrows(ExplainException.class, () -> client.explain(CALL));
        }
        assertEquals(2, server.asked.size());
    }

    @Test
    void busyServersAreAskedAgainNoSoonerThanTheySay() {
        Duration pause = Duration.ofMillis(400);
        server.failures.add(FakeServer.failure(Code.RESOURCE_EXHAUSTED, FakeServer.after(pause)));

        long start = System.nanoTime();
        try (OnnxplainClient client = server.client()) {
            client.explain(CALL);
        }
        assertTrue(System.nanoTime() - start >= pause.toNanos());
    }

    @Test
    void whatIsTooLargeStaysTooLarge() {
        server.failures.add(FakeServer.failure(Code.RESOURCE_EXHAUSTED));

        try (OnnxplainClient client = server.client()) {
            assertThrows(ExplainException.class, () -> client.explain(CALL));
        }
        assertEquals(1, server.asked.size());
    }

    @Test
    void whatIsRefusedStaysRefused() {
        server.failures.add(FakeServer.failure(Code.INVALID_ARGUMENT, FakeServer.after(Duration.ZERO)));

        try (OnnxplainClient client = server.client()) {
            assertThrows(ExplainException.class, () -> client.explain(CALL));
        }
        assertEquals(1, server.asked.size());
    }

    @Test
    void nobodyWaitsForAnAttemptThatWouldBeTooLate() {
        server.failures.add(FakeServer.failure(Code.UNAVAILABLE, FakeServer.after(Duration.ofHours(1))));
        ExplainCall call = ExplainCall.builder().timeout(Duration.ofMinutes(10)).build();

        try (OnnxplainClient client = server.client()) {
            ExplainException error = assertThrows(ExplainException.class, () -> client.explain(call));
            assertEquals(Code.UNAVAILABLE, error.getCode());
        }
    }

    @Test
    void pausesDouble() {
        Attempts attempts = new Attempts(10, null);
        ExplainException error = Border.translate(AWAY, "here");

        for (long most = 100; most <= 800; most *= 2) {
            long pause = attempts.pause(error).orElseThrow().toMillis();
            assertTrue(most / 2 <= pause && pause <= most, pause + " of " + most);
        }
    }

    @Test
    void uploadsAreTriedAgainFromTheirBeginning() {
        server.failures.add(AWAY);
        byte[] file = new byte[3_000_000];

        try (OnnxplainClient client = server.client()) {
            ModelSource model = client.uploadModel(Models.bytes(file));
            assertEquals(file.length, Content.of(server.kept.get(model.id())).size());
        }
        assertEquals(6, server.parts.size());
    }

    @Test
    void streamsAreTriedAgainBeforeTheirFirstEvent() {
        server.failures.add(AWAY);

        try (OnnxplainClient client = server.client();
                ExplainEvents events = client.explainStream(CALL)) {
            assertEquals(1, events.stream().count());
        }
    }

    @Test
    void streamsThatBreakOnTheWayStayBroken() {
        server.progress = List.of(FakeServer.step(1, 9));
        server.failureAfterProgress = AWAY;

        try (OnnxplainClient client = server.client();
                ExplainEvents events = client.explainStream(CALL)) {
            assertEquals(new ExplainEvent.Progress(1, 9), events.iterator().next());
            assertThrows(ExplainException.class, () -> events.iterator().next());
        }
        assertEquals(1, server.asked.size());
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private Server listen(int port) {
        try {
            return Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
                    .addService(server)
                    .build()
                    .start();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
