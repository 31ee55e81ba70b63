package io.github.onnxplain;

import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Takes all messages of a call, of which there may be none.
 *
 * @param <A> what the server sends
 */
final class Replies<A> implements StreamObserver<A> {
    private final CompletableFuture<Void> future = new CompletableFuture<>();
    private final String endpoint;
    private final Consumer<A> take;

    Replies(String endpoint, Consumer<A> take) {
        this.endpoint = endpoint;
        this.take = take;
    }

    /** Completes at the end of the call. */
    CompletableFuture<Void> future() {
        return future;
    }

    @Override
    public void onNext(A message) {
        take.accept(message);
    }

    @Override
    public void onError(Throwable error) {
        future.completeExceptionally(Border.translate(error, endpoint));
    }

    @Override
    public void onCompleted() {
        future.complete(null);
    }
}
