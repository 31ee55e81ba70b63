package io.github.onnxplain;

import io.github.onnxplain.v1.ExplainStreamResponse;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The events of an explanation on its way, once, for one thread; {@link OnnxplainClient#explainStream} makes them.
 *
 * <p>Waiting for one throws {@link ExplainException} where the call fails. What breaks after the first event is not
 * tried again.
 *
 * <pre>{@code
 * try (ExplainEvents events = client.explainStream(call)) {
 *     for (ExplainEvent event : events) {
 *         if (event instanceof ExplainEvent.Progress progress) {
 *             System.out.printf("%.0f of at most %.0f rows%n", progress.done(), progress.planned());
 *         } else if (event instanceof ExplainEvent.Answer answer) {
 *             System.out.println(answer.explanations().toJson());
 *         }
 *     }
 * }
 * }</pre>
 */
public final class ExplainEvents implements Iterable<ExplainEvent>, AutoCloseable {
    private final Calls.Open open;
    private final CompletableFuture<EventQueue> begun;
    private final Iterator<ExplainEvent> events = new Events();
    private volatile boolean closed;

    ExplainEvents(Calls.Open open, CompletableFuture<EventQueue> begun) {
        this.open = open;
        this.begun = begun;
    }

    /**
     * Returns the one iterator: who asks again goes on where the last one stopped.
     *
     * @return the events that are left
     */
    @Override
    public Iterator<ExplainEvent> iterator() {
        return events;
    }

    /**
     * Returns the events as a stream.
     *
     * @return the events that are left; closing the stream closes this
     */
    public Stream<ExplainEvent> stream() {
        return StreamSupport.stream(spliterator(), false).onClose(this::close);
    }

    /** Cancels what is still on its way; there are no events any more. */
    @Override
    public void close() {
        closed = true;
        open.end();
    }

    private Optional<ExplainEvent> take() {
        try {
            Optional<ExplainEvent> event = Calls.await(begun).take().map(ExplainEvents::read);
            if (event.isEmpty()) {
                close();
            }
            return event;
        } catch (InterruptedException error) {
            close();
            Thread.currentThread().interrupt();
            throw ExplainException.cancelled(error);
        } catch (ExplainException error) {
            close();
            throw error;
        }
    }

    private static ExplainEvent read(ExplainStreamResponse event) {
        if (event.hasPartial()) {
            return ExplainEvent.Partial.of(event.getPartial());
        }
        return event.hasResponse()
                ? new ExplainEvent.Answer(new Explanations(event.getResponse()))
                : new ExplainEvent.Progress(
                        event.getProgress().getDone(), event.getProgress().getPlanned());
    }

    private final class Events implements Iterator<ExplainEvent> {
        private Optional<ExplainEvent> next = Optional.empty();

        @Override
        public boolean hasNext() {
            if (next.isEmpty() && !closed) {
                next = take();
            }
            return next.isPresent();
        }

        @Override
        public ExplainEvent next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the stream is at its end");
            }
            ExplainEvent event = next.orElseThrow();
            next = Optional.empty();
            return event;
        }
    }
}
