package io.github.onnxplain;

import com.google.longrunning.CancelOperationRequest;
import com.google.longrunning.DeleteOperationRequest;
import com.google.longrunning.GetOperationRequest;
import com.google.longrunning.ListOperationsRequest;
import com.google.longrunning.ListOperationsResponse;
import com.google.longrunning.OperationsGrpc;
import com.google.longrunning.OperationsGrpc.OperationsStub;
import com.google.longrunning.WaitOperationRequest;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import com.google.protobuf.InvalidProtocolBufferException;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.ExplanationServiceGrpc.ExplanationServiceStub;
import io.github.onnxplain.v1.PartialExplanation;
import io.github.onnxplain.v1.ReadExplanationRequest;
import io.github.onnxplain.v1.ReadExplanationResponse;
import io.github.onnxplain.v1.ReadPartialExplanationsRequest;
import io.grpc.Channel;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

/**
 * Calls about operations on messages, each within the time of the terms.
 *
 * @param channel to the server
 * @param terms of every call
 * @param calls where they are on their way
 */
record OperationCalls(Channel channel, Terms terms, Calls calls) {
    com.google.longrunning.Operation get(String name) {
        GetOperationRequest request =
                GetOperationRequest.newBuilder().setName(name).build();
        return ask((stub, reply) -> stub.getOperation(request, reply));
    }

    /** Returns a page of operations, without their answers. */
    ListOperationsResponse list(String filter, String pageToken) {
        ListOperationsRequest request = ListOperationsRequest.newBuilder()
                .setName("operations")
                .setFilter(filter)
                .setPageToken(pageToken)
                .build();
        return ask((stub, reply) -> stub.listOperations(request, reply));
    }

    /** Returns an operation as soon as it ends, or after some time, or sooner. */
    com.google.longrunning.Operation await(String name, Duration time) {
        WaitOperationRequest.Builder request = WaitOperationRequest.newBuilder().setName(name);
        request.getTimeoutBuilder().setSeconds(time.getSeconds()).setNanos(time.getNano());
        return ask((stub, reply) -> stub.waitOperation(request.build(), reply));
    }

    void cancel(String name) {
        CancelOperationRequest request =
                CancelOperationRequest.newBuilder().setName(name).build();
        this.<Empty>ask((stub, reply) -> stub.cancelOperation(request, reply));
    }

    void delete(String name) {
        DeleteOperationRequest request =
                DeleteOperationRequest.newBuilder().setName(name).build();
        this.<Empty>ask((stub, reply) -> stub.deleteOperation(request, reply));
    }

    /** Reads an answer of any size; after a failure, goes on behind what has arrived. */
    ExplainResponse read(String name) {
        ByteString.Output content = ByteString.newOutput();
        Calls.await(calls.run(null, exchange -> exchange.explaining(stub -> readRest(stub, name, content))));
        try {
            return ExplainResponse.parseFrom(content.toByteString());
        } catch (InvalidProtocolBufferException error) {
            throw ExplainException.unreadable(error);
        }
    }

    private CompletableFuture<Void> readRest(ExplanationServiceStub stub, String name, ByteString.Output content) {
        ReadExplanationRequest request = ReadExplanationRequest.newBuilder()
                .setName(name)
                .setOffset(content.size())
                .build();
        Replies<ReadExplanationResponse> replies = new Replies<>(terms.endpoint(), part -> {
            ByteString bytes = part.getContent();
            content.write(bytes.toByteArray(), 0, bytes.size());
        });
        stub.readExplanation(request, replies);
        return replies.future();
    }

    /** Reads what is finished so far; after a failure, all of it again, since it may have become more. */
    List<PartialExplanation> partials(String name) {
        ReadPartialExplanationsRequest request =
                ReadPartialExplanationsRequest.newBuilder().setName(name).build();
        return Calls.await(calls.run(
                null,
                exchange -> exchange.explaining(stub -> {
                    List<PartialExplanation> found = new ArrayList<>();
                    Replies<PartialExplanation> replies = new Replies<>(terms.endpoint(), found::add);
                    stub.readPartialExplanations(request, replies);
                    return replies.future().thenApply(end -> found);
                })));
    }

    private <A> A ask(BiConsumer<OperationsStub, StreamObserver<A>> call) {
        return Calls.await(calls.run(
                null,
                exchange -> exchange.persist(deadline -> {
                    Reply<A> reply = new Reply<>(terms.endpoint(), message -> {});
                    call.accept(terms.on(OperationsGrpc.newStub(channel), deadline), reply);
                    return reply.future();
                })));
    }
}
