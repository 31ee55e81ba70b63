package io.github.onnxplain;

import io.grpc.Context;
import io.grpc.Context.CancellableContext;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/** The calls of a client that are on their way. */
final class Calls implements AutoCloseable {
    private final Set<CancellableContext> running = ConcurrentHashMap.newKeySet();
    private final ManagedChannel channel;
    private final Terms terms;
    private volatile boolean closed;

    Calls(ManagedChannel channel, Terms terms) {
        this.channel = channel;
        this.terms = terms;
    }

    /** A call on its way; must be ended. */
    final class Open {
        // Whoever goes on after the call should not find himself in its context, which is over.
        private final Context caller = Context.current();
        private final CancellableContext context = caller.withCancellation();
        private final Exchange exchange;

        private Open(Duration timeout) {
            exchange = new Exchange(channel, terms, context, timeout);
            running.add(context);
        }

        Exchange exchange() {
            return exchange;
        }

        /** Ends the call, if it is still on its way. */
        void end() {
            running.remove(context);
            context.cancel(null);
        }

        /** Makes a future of the caller's: it completes where he is, and ends with the call. */
        <A> CompletableFuture<A> future(CompletableFuture<A> work) {
            CompletableFuture<A> future = new CompletableFuture<>();
            context.addListener(ended -> caller.run(() -> cancel(future, ended.cancellationCause())), Runnable::run);
            work.whenComplete((answer, error) -> caller.run(() -> {
                if (error == null) {
                    future.complete(answer);
                } else {
                    future.completeExceptionally(unwrapped(error));
                }
            }));
            return future;
        }
    }

    /**
     * Begins a call.
     *
     * @param timeout null for that of the terms
     */
    Open open(Duration timeout) {
        Open open = new Open(timeout);
        if (closed) {
            open.end();
            throw new IllegalStateException("the client is closed");
        }
        return open;
    }

    /** Begins a call that has one answer, and ends with it. */
    <A> CompletableFuture<A> run(Duration timeout, Function<Exchange, CompletableFuture<A>> work) {
        Open open = open(timeout);
        CompletableFuture<A> future = open.future(work.apply(open.exchange()));
        future.whenComplete((answer, error) -> open.end());
        return future;
    }

    /** Ends all calls. */
    @Override
    public void close() {
        closed = true;
        running.forEach(context -> context.cancel(null));
    }

    /** Waits for an answer; an interrupt ends the call. */
    static <A> A await(CompletableFuture<A> future) {
        try {
            return future.get();
        } catch (InterruptedException error) {
            future.cancel(true);
            Thread.currentThread().interrupt();
            throw ExplainException.cancelled(error);
        } catch (ExecutionException error) {
            throw thrown(error.getCause());
        }
    }

    private static void cancel(CompletableFuture<?> future, Throwable cause) {
        if (!future.isDone()) {
            future.completeExceptionally(ExplainException.cancelled(cause));
        }
    }

    private static RuntimeException thrown(Throwable error) {
        if (error instanceof ExplainException found) {
            return new ExplainException(found);
        }
        return error instanceof RuntimeException own ? own : new IllegalStateException(error);
    }

    private static Throwable unwrapped(Throwable error) {
        return error instanceof CompletionException ? error.getCause() : error;
    }
}
