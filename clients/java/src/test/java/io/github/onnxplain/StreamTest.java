package io.github.onnxplain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status.Code;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Progress on the way, and the answer at the end. */
class StreamTest {
    private FakeServer server;
    private OnnxplainClient client;

    @BeforeEach
    void start() throws IOException {
        server = new FakeServer();
        server.progress = List.of(FakeServer.step(1, 4), FakeServer.step(3, 4));
        client = server.client();
    }

    @AfterEach
    void stop() {
        client.close();
        server.close();
    }

    @Test
    void theAnswerComesLast() {
        List<ExplainEvent> found = new ArrayList<>();
        try (ExplainEvents events =
                client.explainStream(ExplainCall.builder().seed(5).build())) {
            events.forEach(found::add);
        }

        assertEquals(List.of(new ExplainEvent.Progress(1, 4), new ExplainEvent.Progress(3, 4)), found.subList(0, 2));
        ExplainEvent.Answer answer = assertInstanceOf(ExplainEvent.Answer.class, found.get(2));
        assertEquals(5, answer.explanations().receipt().getSeed());
        assertEquals(3, found.size());
    }

    @Test
    void afterTheEndThereIsNothing() {
        try (ExplainEvents events = client.explainStream(ExplainCall.builder().build())) {
            Iterator<ExplainEvent> iterator = events.iterator();
            iterator.forEachRemaining(event -> {});

            assertThrows(NoSuchElementException.class, iterator::next);
        }
    }

    @Test
    void aListenerIsToldRisingNumbersAcrossAttempts() {
        server.progress = List.of(FakeServer.step(2, 4), FakeServer.step(1, 4), FakeServer.step(3, 4));
        List<Double> told = new ArrayList<>();

        Explanations found = client.explain(ExplainCall.builder()
                .seed(5)
                .progress((done, planned) -> told.add(done))
                .build());

        assertEquals(List.of(2.0, 3.0), told);
        assertEquals(5, found.receipt().getSeed());
    }

    @Test
    void aRefusalIsThrownByTheFirstStep() {
        server.failures.add(FakeServer.failure(Code.INVALID_ARGUMENT, FakeServer.reason("INVALID_OPTION")));

        try (ExplainEvents events = client.explainStream(ExplainCall.builder().build())) {
            ExplainException error = assertThrows(ExplainException.class, events.iterator()::hasNext);

            assertEquals("INVALID_OPTION", error.getReason());
        }
    }

    @Test
    void aStreamWithoutAnAnswerIsAnError() {
        server.endsEarly = true;

        ExplainCall call = ExplainCall.builder().progress((done, planned) -> {}).build();

        ExplainException error = assertThrows(ExplainException.class, () -> client.explain(call));
        assertEquals(Code.INTERNAL, error.getCode());
    }

    @Test
    void threadsCanShareAClient() {
        List<Integer> seeds = IntStream.range(0, 200).boxed().toList();

        List<Integer> found = seeds.parallelStream()
                .map(seed -> client.explain(ExplainCall.builder().seed(seed).build())
                        .receipt()
                        .getSeed())
                .toList();

        assertEquals(seeds, found);
    }
}
