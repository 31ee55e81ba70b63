package io.github.onnxplain;

import com.google.protobuf.Message;
import io.github.onnxplain.v1.CompareExplanationsRequest;
import io.github.onnxplain.v1.CompareExplanationsResponse;
import io.github.onnxplain.v1.DescribeModelRequest;
import io.github.onnxplain.v1.DescribeModelResponse;
import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.ExplainStreamRequest;
import io.github.onnxplain.v1.ExplainStreamResponse;
import io.github.onnxplain.v1.ExplanationComparison;
import io.github.onnxplain.v1.ExplanationServiceGrpc.ExplanationServiceStub;
import io.github.onnxplain.v1.ModelDescription;
import io.github.onnxplain.v1.Table;
import io.grpc.ManagedChannel;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;

/**
 * Explains models; threads can share it. {@link Onnxplain#connect} makes it.
 *
 * <p>Every failure of a call is an {@link ExplainException}. Who interrupts a waiting thread cancels its call.
 */
public final class OnnxplainClient extends RowCalls implements AutoCloseable {
    // What ExplainStreamRequest has besides its request.
    private static final int STREAM_BYTES = 16;

    private final ManagedChannel channel;

    OnnxplainClient(ManagedChannel channel, Terms terms) {
        super(channel, terms);
        this.channel = channel;
    }

    /**
     * Explains a model.
     *
     * <pre>{@code
     * Explanations found = client.explain(ExplainCall.builder()
     *         .model(Models.file(Path.of("model.onnx")))
     *         .table(Tables.file(Path.of("rows.csv")))
     *         .method(InteractionsOptions.getDefaultInstance())
     *         .timeout(Duration.ofSeconds(30))
     *         .build());
     * }</pre>
     *
     * @param call what to explain, and how
     * @return one result per method
     * @throws ExplainException where the server refuses, or does not answer
     */
    public Explanations explain(ExplainCall call) {
        return Calls.await(explainAsync(call));
    }

    /**
     * Explains a model, without waiting for it.
     *
     * <pre>{@code
     * CompletableFuture<Explanations> future = client.explainAsync(call);
     * future.thenAccept(found -> System.out.println(found.interactions()));
     * }</pre>
     *
     * @param call what to explain, and how
     * @return what completes with the results, or an {@link ExplainException}; to cancel it cancels the computation
     */
    public CompletableFuture<Explanations> explainAsync(ExplainCall call) {
        if (call.request().getPartial()) {
            throw new IllegalArgumentException("only explainStream and start give partial answers");
        }
        Parcel<ExplainRequest> parcel = parcel(call, STREAM_BYTES);
        return calls.run(call.timeout(), exchange -> {
            CompletableFuture<ExplainResponse> answer = call.progress() == null
                    ? exchange.deliver(parcel, this::explained)
                    : exchange.deliver(parcel, followed(call.progress()));
            return answer.thenApply(Explanations::new);
        });
    }

    /**
     * Explains a model, with progress on the way; the results come last.
     *
     * <pre>{@code
     * try (ExplainEvents events = client.explainStream(call)) {
     *     for (ExplainEvent event : events) {
     *         System.out.println(event);
     *     }
     * }
     * }</pre>
     *
     * @param call what to explain, and how
     * @return the events, to be closed; closing them early cancels the computation
     */
    public ExplainEvents explainStream(ExplainCall call) {
        Parcel<ExplainRequest> parcel = parcel(call, STREAM_BYTES);
        Calls.Open open = calls.open(call.timeout());
        CompletableFuture<EventQueue> begun = open.exchange().deliver(parcel, (stub, request) -> {
            EventQueue queue = new EventQueue(terms.endpoint());
            stub.explainStream(streamed(request), queue);
            return queue.begun();
        });
        return new ExplainEvents(open, open.future(begun));
    }

    /**
     * Tells what a model takes and gives.
     *
     * <pre>{@code
     * client.describe(Models.file(Path.of("model.onnx"))).getOutputNamesList();
     * }</pre>
     *
     * @param model to describe
     * @return inputs, outputs and scales
     * @throws ExplainException where the server refuses, or does not answer
     */
    public ModelDescription describe(ModelSource model) {
        return describe(model, terms.timeout());
    }

    /**
     * Tells what a model takes and gives, within some time.
     *
     * @param model to describe
     * @param timeout null for that of the client
     * @return inputs, outputs and scales
     * @throws ExplainException where the server refuses, or does not answer
     */
    public ModelDescription describe(ModelSource model, Duration timeout) {
        DescribeModelRequest whole =
                DescribeModelRequest.newBuilder().setModel(model.message()).build();
        Parcel<DescribeModelRequest> parcel = new Parcel<>(whole, model.file(), null, terms.messageLimit());
        CompletableFuture<DescribeModelResponse> answer = calls.run(
                timeout,
                exchange -> exchange.deliver(parcel, (stub, request) -> {
                    Reply<DescribeModelResponse> reply = reply();
                    stub.describeModel(request, reply);
                    return reply.future();
                }));
        return Calls.await(answer).getModel();
    }

    /**
     * Compares two answers that were kept, each made with replicates; explains nothing.
     *
     * <pre>{@code
     * Reference reference = Reference.newBuilder().setAnswer(before.message()).build();
     * client.compareExplanations(CompareExplanationsRequest.newBuilder()
     *         .setReference(reference)
     *         .setAnswer(after.message())
     *         .build());
     * }</pre>
     *
     * @param request both answers, and the rules of the reference
     * @return what has changed, and which rules hold
     * @throws ExplainException where the server refuses, or does not answer
     */
    public ExplanationComparison compareExplanations(CompareExplanationsRequest request) {
        return compareExplanations(request, terms.timeout());
    }

    /**
     * Compares two answers that were kept, within some time.
     *
     * @param request both answers, and the rules of the reference
     * @param timeout null for that of the client
     * @return what has changed, and which rules hold
     * @throws ExplainException where the server refuses, or does not answer
     */
    public ExplanationComparison compareExplanations(CompareExplanationsRequest request, Duration timeout) {
        Parcel<CompareExplanationsRequest> parcel = new Parcel<>(request, null, null, terms.messageLimit());
        CompletableFuture<CompareExplanationsResponse> answer = calls.run(
                timeout,
                exchange -> exchange.deliver(parcel, (stub, whole) -> {
                    Reply<CompareExplanationsResponse> reply = reply();
                    stub.compareExplanations(whole, reply);
                    return reply.future();
                }));
        return Calls.await(answer).getComparison();
    }

    /**
     * Has the server keep a model, so that later calls need not send it.
     *
     * <p>What it returns goes in place of the model, and holds the bytes of the file: where the server has the model no
     * longer, the call uploads it again.
     *
     * <pre>{@code
     * ModelSource model = client.uploadModel(Models.file(Path.of("model.onnx")));
     * for (Path rows : files) {
     *     client.explain(ExplainCall.builder().model(model).table(Tables.file(rows)).method(options).build());
     * }
     * }</pre>
     *
     * @param model with its bytes
     * @return the same model, named by its id
     * @throws ExplainException where the server refuses, or does not answer
     * @throws IllegalArgumentException where the model is an id
     */
    public ModelSource uploadModel(ModelSource model) {
        return uploadModel(model, terms.timeout());
    }

    /**
     * Has the server keep a model, within some time.
     *
     * @param model with its bytes
     * @param timeout null for that of the client
     * @return the same model, named by its id
     * @throws ExplainException where the server refuses, or does not answer
     * @throws IllegalArgumentException where the model is an id
     */
    public ModelSource uploadModel(ModelSource model, Duration timeout) {
        String id = upload(model.message(), timeout);
        return ModelSource.uploaded(id, model.message());
    }

    /**
     * Has the server keep a table, likewise.
     *
     * <pre>{@code
     * TableSource table = client.uploadTable(Tables.file(Path.of("rows.parquet")));
     * }</pre>
     *
     * @param table of a file; columns in memory go with the request only
     * @return the same table, named by its id
     * @throws ExplainException where the server refuses, or does not answer
     * @throws IllegalArgumentException where the table is no file
     */
    public TableSource uploadTable(TableSource table) {
        return uploadTable(table, terms.timeout());
    }

    /**
     * Has the server keep a table, within some time.
     *
     * @param table of a file; columns in memory go with the request only
     * @param timeout null for that of the client
     * @return the same table, named by its id
     * @throws ExplainException where the server refuses, or does not answer
     * @throws IllegalArgumentException where the table is no file
     */
    public TableSource uploadTable(TableSource table, Duration timeout) {
        Table file = table.message();
        return TableSource.uploaded(upload(file, timeout), file);
    }

    /**
     * Asks for the server's own verdict: once, since it is about this moment.
     *
     * <pre>{@code
     * boolean up = client.health() == ServingStatus.SERVING;
     * }</pre>
     *
     * @return SERVING, or NOT_SERVING while it stops
     * @throws ExplainException where nobody answers
     */
    public HealthCheckResponse.ServingStatus health() {
        return health("", terms.timeout());
    }

    /**
     * Asks for the server's own verdict about a service.
     *
     * @param service its full name, or empty for the server as a whole
     * @param timeout null for that of the client
     * @return SERVING, or NOT_SERVING while it stops
     * @throws ExplainException where nobody answers, or the service is unknown
     */
    public HealthCheckResponse.ServingStatus health(String service, Duration timeout) {
        HealthCheckRequest request =
                HealthCheckRequest.newBuilder().setService(service).build();
        CompletableFuture<HealthCheckResponse> answer = calls.run(
                timeout,
                exchange -> exchange.once(deadline -> {
                    Reply<HealthCheckResponse> reply = reply();
                    terms.on(HealthGrpc.newStub(channel), deadline).check(request, reply);
                    return reply.future();
                }));
        return Calls.await(answer).getStatus();
    }

    /** Lets go of the connection. Calls that are on their way end with the reason CANCELLED. */
    @Override
    public void close() {
        calls.close();
        channel.shutdownNow();
    }

    private CompletableFuture<ExplainResponse> explained(ExplanationServiceStub stub, ExplainRequest request) {
        Reply<ExplainResponse> reply = reply();
        stub.explain(request, reply);
        return reply.future();
    }

    private BiFunction<ExplanationServiceStub, ExplainRequest, CompletableFuture<ExplainResponse>> followed(
            ProgressListener listener) {
        RisingProgress progress = new RisingProgress(listener);
        return (stub, request) -> {
            Reply<ExplainStreamResponse> reply = new Reply<>(terms.endpoint(), progress::tell);
            stub.explainStream(streamed(request), reply);
            return reply.future().thenApply(OnnxplainClient::answered);
        };
    }

    private static ExplainResponse answered(ExplainStreamResponse last) {
        if (!last.hasResponse()) {
            throw ExplainException.noAnswer();
        }
        return last.getResponse();
    }

    private String upload(Message file, Duration timeout) {
        if (!Content.isFile(file)) {
            throw new IllegalArgumentException("only the bytes of a file can be uploaded");
        }
        return Calls.await(calls.run(timeout, exchange -> exchange.upload(file)));
    }

    private static ExplainStreamRequest streamed(ExplainRequest request) {
        return ExplainStreamRequest.newBuilder().setRequest(request).build();
    }
}
