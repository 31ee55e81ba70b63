package io.github.onnxplain;

import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Waits for the last message of a call; those before it are told.
 *
 * @param <A> what the server sends
 */
final class Reply<A> implements StreamObserver<A> {
    private final CompletableFuture<A> future = new CompletableFuture<>();
    private final String endpoint;
    private final Consumer<A> tell;
    private A last;

    Reply(String endpoint, Consumer<A> tell) {
        this.endpoint = endpoint;
        this.tell = tell;
    }

    CompletableFuture<A> future() {
        return future;
    }

    @Override
    public void onNext(A message) {
        last = message;
        try {
            tell.accept(message);
        } catch (RuntimeException error) {
            // The caller's own, and for him.
            future.completeExceptionally(error);
        }
    }

    @Override
    public void onError(Throwable error) {
        future.completeExceptionally(Border.translate(error, endpoint));
    }

    @Override
    public void onCompleted() {
        if (last == null) {
            future.completeExceptionally(ExplainException.noAnswer());
        } else {
            future.complete(last);
        }
    }
}
