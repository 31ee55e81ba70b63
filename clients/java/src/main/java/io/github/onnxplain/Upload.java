package io.github.onnxplain;

import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;

/**
 * Sends the parts of files, no faster than they leave.
 *
 * @param <Q> what one part is sent in
 * @param <A> what the server sends
 */
final class Upload<Q, A> implements ClientResponseObserver<Q, A> {
    private final Reply<A> reply;
    private final Iterator<Q> parts;
    private boolean sent;

    Upload(String endpoint, Iterator<Q> parts) {
        this.reply = new Reply<>(endpoint, message -> {});
        this.parts = parts;
    }

    CompletableFuture<A> future() {
        return reply.future();
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<Q> call) {
        call.setOnReadyHandler(() -> send(call));
    }

    private void send(ClientCallStreamObserver<Q> call) {
        while (call.isReady() && parts.hasNext()) {
            call.onNext(parts.next());
        }
        if (!parts.hasNext() && !sent) {
            sent = true;
            call.onCompleted();
        }
    }

    @Override
    public void onNext(A message) {
        reply.onNext(message);
    }

    @Override
    public void onError(Throwable error) {
        reply.onError(error);
    }

    @Override
    public void onCompleted() {
        reply.onCompleted();
    }
}
