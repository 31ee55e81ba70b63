package io.github.onnxplain;

import io.github.onnxplain.v1.ExplainStreamRequest;
import io.github.onnxplain.v1.ExplainStreamResponse;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/** The events of one stream, which is asked for the next when one is taken. */
final class EventQueue implements ClientResponseObserver<ExplainStreamRequest, ExplainStreamResponse> {
    /** An event; or the end, and what it came by. */
    private record Item(ExplainStreamResponse event, ExplainException error) {}

    private final BlockingQueue<Item> items = new LinkedBlockingQueue<>();
    private final CompletableFuture<EventQueue> begun = new CompletableFuture<>();
    private final String endpoint;
    private ClientCallStreamObserver<ExplainStreamRequest> call;

    EventQueue(String endpoint) {
        this.endpoint = endpoint;
    }

    /** Completes when the first event, or the end, is here; fails where there is only an error. */
    CompletableFuture<EventQueue> begun() {
        return begun;
    }

    /** Waits for the next event; empty at the end. */
    Optional<ExplainStreamResponse> take() throws InterruptedException {
        Item item = items.take();
        if (item.error != null) {
            throw new ExplainException(item.error);
        }
        if (item.event != null) {
            call.request(1);
        }
        return Optional.ofNullable(item.event);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<ExplainStreamRequest> stream) {
        call = stream;
        stream.disableAutoRequestWithInitial(1);
    }

    @Override
    public void onNext(ExplainStreamResponse event) {
        items.add(new Item(event, null));
        begun.complete(this);
    }

    @Override
    public void onError(Throwable thrown) {
        ExplainException error = Border.translate(thrown, endpoint);
        items.add(new Item(null, error));
        begun.completeExceptionally(error);
    }

    @Override
    public void onCompleted() {
        items.add(new Item(null, null));
        begun.complete(this);
    }
}
