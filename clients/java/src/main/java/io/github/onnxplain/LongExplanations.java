package io.github.onnxplain;

import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.ExplanationPlan;
import io.github.onnxplain.v1.StartExplanationRequest;
import io.grpc.ManagedChannel;
import java.util.Objects;
import java.util.UUID;

/** What a client does about explanations that take long: plans, and operations, which a server computes and keeps. */
abstract class LongExplanations {
    // What a request that holds an ExplainRequest has besides: the tag and the length of that.
    private static final int WRAPPER_BYTES = 16;

    final Terms terms;
    final Calls calls;
    private final OperationCalls operationCalls;

    LongExplanations(ManagedChannel channel, Terms terms) {
        this.terms = terms;
        this.calls = new Calls(channel, terms);
        this.operationCalls = new OperationCalls(channel, terms, calls);
    }

    /**
     * Tells what an explanation would take, without computing it. A listener of the call is told nothing.
     *
     * <pre>{@code
     * ExplanationPlan plan = client.plan(call);
     * plan.getSeconds().getHigh();
     * plan.getSavingsList();
     * }</pre>
     *
     * @param call what to explain, and how
     * @return rows to predict, seconds, memory, size of the answer, and cheaper options
     * @throws ExplainException where the server refuses, or does not answer
     */
    public ExplanationPlan plan(ExplainCall call) {
        Parcel<ExplainRequest> parcel = parcel(call, 0);
        return Calls.await(calls.run(
                call.timeout(),
                exchange -> exchange.deliver(parcel, (stub, request) -> {
                    Reply<ExplanationPlan> reply = reply();
                    stub.planExplanation(request, reply);
                    return reply.future();
                })));
    }

    /**
     * Starts an explanation that the server computes and keeps, whether or not this client waits.
     *
     * @param call what to explain, and how; its timeout is that of the start
     * @return its operation
     * @throws ExplainException where the server refuses, or does not answer; {@code OPERATIONS_DISABLED} by a server
     *     without Redis
     * @throws IllegalArgumentException where the call has a listener: {@link Operation#await} takes one
     */
    public Operation start(ExplainCall call) {
        return start(call, StartOptions.NONE);
    }

    /**
     * Starts an explanation likewise, with a name and labels.
     *
     * <pre>{@code
     * client.start(call, StartOptions.NONE.withRequestId("nightly-1").withLabel("team", "risk"));
     * }</pre>
     *
     * @param call what to explain, and how; its timeout is that of the start
     * @param options its name and labels
     * @return its operation
     * @throws ExplainException where the server refuses, or does not answer; {@code OPERATIONS_DISABLED} by a server
     *     without Redis
     * @throws IllegalArgumentException where the call has a listener: {@link Operation#await} takes one
     */
    public Operation start(ExplainCall call, StartOptions options) {
        if (call.progress() != null) {
            throw new IllegalArgumentException("start tells no progress: give the listener to Operation.await");
        }
        String requestId = options.requestId().isEmpty() ? UUID.randomUUID().toString() : options.requestId();
        StartExplanationRequest around = StartExplanationRequest.newBuilder()
                .setRequestId(requestId)
                .putAllLabels(options.labels())
                .build();
        Parcel<ExplainRequest> parcel = parcel(call, WRAPPER_BYTES + around.getSerializedSize());
        return new Operation(
                Calls.await(calls.run(
                        call.timeout(),
                        exchange -> exchange.deliver(parcel, (stub, request) -> {
                            Reply<com.google.longrunning.Operation> reply = reply();
                            stub.startExplanation(
                                    around.toBuilder().setRequest(request).build(), reply);
                            return reply.future();
                        }))),
                operationCalls);
    }

    /**
     * Finds an operation again.
     *
     * @param name what {@link Operation#name} told
     * @return the operation
     * @throws ExplainException {@code OPERATION_NOT_FOUND} where the caller has none of this name
     */
    public Operation operation(String name) {
        return new Operation(operationCalls.get(name), operationCalls);
    }

    /**
     * Lists the caller's operations, newest first, without their answers.
     *
     * <pre>{@code
     * for (Operation operation : client.operations("done = false AND labels.team = \"risk\"")) {
     *     operation.cancel();
     * }
     * }</pre>
     *
     * @param filter conditions joined by AND, of state, done, method, request_id and labels.KEY, with = and !=; empty
     *     for all
     * @return what asks page by page, anew for each iterator; its steps throw {@link ExplainException}
     */
    public Iterable<Operation> operations(String filter) {
        Objects.requireNonNull(filter, "filter");
        return () -> new OperationPages(operationCalls, filter);
    }

    /** Packs a request; the message that holds it has some bytes more. */
    final Parcel<ExplainRequest> parcel(ExplainCall call, int more) {
        return new Parcel<>(call.request(), call.modelFile(), call.tableFile(), terms.messageLimit() - more);
    }

    final <A> Reply<A> reply() {
        return new Reply<>(terms.endpoint(), message -> {});
    }
}
