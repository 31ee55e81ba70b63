package io.github.onnxplain;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import io.github.onnxplain.v1.ExplanationServiceGrpc;
import io.github.onnxplain.v1.ExplanationServiceGrpc.ExplanationServiceStub;
import io.github.onnxplain.v1.Model;
import io.github.onnxplain.v1.ModelFile;
import io.github.onnxplain.v1.Table;
import io.github.onnxplain.v1.UploadModelRequest;
import io.github.onnxplain.v1.UploadModelResponse;
import io.github.onnxplain.v1.UploadTableRequest;
import io.github.onnxplain.v1.UploadTableResponse;
import io.grpc.ConnectivityState;
import io.grpc.Context.CancellableContext;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

/** One call of a caller: its attempts, and the uploads that it needs. Whoever cancels its context ends all of them. */
final class Exchange {
    private final ManagedChannel channel;
    private final Terms terms;
    private final CancellableContext context;
    private final Attempts attempts;

    /**
     * Begins a call.
     *
     * @param timeout null for that of the terms
     */
    Exchange(ManagedChannel channel, Terms terms, CancellableContext context, Duration timeout) {
        this.channel = channel;
        this.terms = terms;
        this.context = context;
        this.attempts = terms.attempts(timeout);
    }

    /** Makes a call with the parcel's request; uploads what the server has no longer. */
    <Q extends Message, A> CompletableFuture<A> deliver(
            Parcel<Q> parcel, BiFunction<ExplanationServiceStub, Q, CompletableFuture<A>> call) {
        return recovered(explaining(stub -> call.apply(stub, parcel.request())), error -> parcel.missing(error)
                .map(file -> upload(file).thenCompose(id -> {
                    parcel.rename(file, id);
                    return deliver(parcel, call);
                })));
    }

    /** Sends a Model or Table in parts, and returns its id. */
    CompletableFuture<String> upload(Message file) {
        return file instanceof Model model
                ? explaining(stub -> uploadModel(stub, model))
                : explaining(stub -> uploadTable(stub, (Table) file));
    }

    private CompletableFuture<String> uploadModel(ExplanationServiceStub stub, Model model) {
        Stream<ModelFile> files = Stream.concat(
                Stream.of(ModelFile.newBuilder().setContent(model.getContent()).build()),
                model.getFilesList().stream());
        Upload<UploadModelRequest, UploadModelResponse> upload =
                new Upload<>(terms.endpoint(), files.flatMap(this::parts).iterator());
        stub.uploadModel(upload);
        return upload.future().thenApply(UploadModelResponse::getId);
    }

    private Stream<UploadModelRequest> parts(ModelFile file) {
        return Content.parts(file.getContent(), terms.partBytes()).map(part -> UploadModelRequest.newBuilder()
                .setFile(file.getName())
                .setContent(part)
                .build());
    }

    private CompletableFuture<String> uploadTable(ExplanationServiceStub stub, Table table) {
        Stream<ByteString> parts = Content.parts(Content.of(table), terms.partBytes());
        Upload<UploadTableRequest, UploadTableResponse> upload = new Upload<>(
                terms.endpoint(),
                parts.map(part -> UploadTableRequest.newBuilder()
                                .setFormat(Content.format(table))
                                .setContent(part)
                                .build())
                        .iterator());
        stub.uploadTable(upload);
        return upload.future().thenApply(UploadTableResponse::getId);
    }

    /** Makes a call of the explanation service until it is answered, or there is no use in it. */
    <A> CompletableFuture<A> explaining(Function<ExplanationServiceStub, CompletableFuture<A>> call) {
        return persist(deadline -> call.apply(terms.on(ExplanationServiceGrpc.newStub(channel), deadline)));
    }

    /** Makes a call of any service, told its deadline, until it is answered, or there is no use in it. */
    <A> CompletableFuture<A> persist(Function<Deadline, CompletableFuture<A>> call) {
        return recovered(once(call), error -> attempts.pause(error)
                .map(pause ->
                        CompletableFuture.supplyAsync(() -> null, after(pause)).thenCompose(nothing -> persist(call))));
    }

    /** Makes a call of any service, told its deadline, once. */
    <A> CompletableFuture<A> once(Function<Deadline, CompletableFuture<A>> call) {
        try {
            return context.call(() -> call.apply(attempts.deadline()));
        } catch (Exception error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    private Executor after(Duration pause) {
        Executor delayed = CompletableFuture.delayedExecutor(pause.toNanos(), TimeUnit.NANOSECONDS);
        return task -> delayed.execute(() -> {
            lookAgain();
            task.run();
        });
    }

    /** Has a channel that met nobody look again: by itself it would wait, and fail calls meanwhile. */
    private void lookAgain() {
        if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
            channel.enterIdle();
        }
    }

    /** Goes on with another call where there is one for this error. */
    private static <A> CompletableFuture<A> recovered(
            CompletableFuture<A> call, Function<ExplainException, Optional<CompletableFuture<A>>> other) {
        return call.exceptionallyCompose(thrown -> {
            Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
            return Optional.of(error)
                    .filter(ExplainException.class::isInstance)
                    .flatMap(found -> other.apply((ExplainException) found))
                    .orElseGet(() -> CompletableFuture.failedFuture(error));
        });
    }
}
