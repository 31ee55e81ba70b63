package io.github.onnxplain;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.github.onnxplain.v1.DescribeModelRequest;
import io.github.onnxplain.v1.DescribeModelResponse;
import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.ExplainStreamRequest;
import io.github.onnxplain.v1.ExplainStreamResponse;
import io.github.onnxplain.v1.ExplanationServiceGrpc.ExplanationServiceImplBase;
import io.github.onnxplain.v1.Model;
import io.github.onnxplain.v1.Progress;
import io.github.onnxplain.v1.Table;
import io.github.onnxplain.v1.UploadModelRequest;
import io.github.onnxplain.v1.UploadModelResponse;
import io.github.onnxplain.v1.UploadTableRequest;
import io.github.onnxplain.v1.UploadTableResponse;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/** A server in this process: keeps what is uploaded, fails when told to, and remembers what it was asked. */
final class FakeServer extends ExplanationServiceImplBase implements AutoCloseable {
    final Queue<StatusRuntimeException> failures = new ConcurrentLinkedQueue<>();
    final List<Message> asked = new CopyOnWriteArrayList<>();
    final List<String> authorizations = new CopyOnWriteArrayList<>();
    final List<Integer> parts = new CopyOnWriteArrayList<>();
    final Map<String, Message> kept = new ConcurrentHashMap<>();
    final CountDownLatch begun = new CountDownLatch(1);
    final CountDownLatch cancelled = new CountDownLatch(1);
    volatile List<ExplainStreamResponse> progress = List.of();
    volatile StatusRuntimeException failureAfterProgress;
    volatile boolean answers = true;
    volatile boolean endsEarly;
    volatile boolean forgets;

    private final String name = InProcessServerBuilder.generateName();
    private final Server server;

    FakeServer() throws IOException {
        server = InProcessServerBuilder.forName(name)
                .addService(this)
                .intercept(new Authorizations())
                .build()
                .start();
    }

    static StatusRuntimeException failure(Code code, Message... details) {
        com.google.rpc.Status.Builder status =
                com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage("the message");
        Arrays.stream(details).map(Any::pack).forEach(status::addDetails);
        return StatusProto.toStatusRuntimeException(status.build());
    }

    static ErrorInfo reason(String reason) {
        return ErrorInfo.newBuilder().setReason(reason).setDomain("onnxplain").build();
    }

    static BadRequest field(String field) {
        return BadRequest.newBuilder()
                .addFieldViolations(BadRequest.FieldViolation.newBuilder().setField(field))
                .build();
    }

    static RetryInfo after(java.time.Duration time) {
        Duration delay = Duration.newBuilder()
                .setSeconds(time.getSeconds())
                .setNanos(time.getNano())
                .build();
        return RetryInfo.newBuilder().setRetryDelay(delay).build();
    }

    static ExplainStreamResponse step(double done, double planned) {
        Progress step = Progress.newBuilder().setDone(done).setPlanned(planned).build();
        return ExplainStreamResponse.newBuilder().setProgress(step).build();
    }

    /** Makes a client of this server. */
    OnnxplainClient client(Consumer<ClientBuilder> settings) {
        ClientBuilder builder = Onnxplain.connect("localhost:1");
        settings.accept(builder);
        return builder.over(InProcessChannelBuilder.forName(name).build());
    }

    OnnxplainClient client() {
        return client(builder -> {});
    }

    boolean seesCancellation() throws InterruptedException {
        return cancelled.await(1, TimeUnit.MINUTES);
    }

    @Override
    public void explain(ExplainRequest request, StreamObserver<ExplainResponse> observer) {
        answer(request, missing(request), observer, () -> observer.onNext(response(request)));
    }

    @Override
    public void explainStream(ExplainStreamRequest request, StreamObserver<ExplainStreamResponse> observer) {
        answer(request, missing(request.getRequest()), observer, () -> {
            if (failureAfterProgress != null) {
                throw failureAfterProgress;
            }
            observer.onNext(ExplainStreamResponse.newBuilder()
                    .setResponse(response(request.getRequest()))
                    .build());
        });
    }

    @Override
    public void describeModel(DescribeModelRequest request, StreamObserver<DescribeModelResponse> observer) {
        answer(request, missing("model", request.getModel().getId()), observer, () -> {
            DescribeModelResponse.Builder response = DescribeModelResponse.newBuilder();
            response.getModelBuilder().addOutputNames("y");
            observer.onNext(response.build());
        });
    }

    @Override
    public StreamObserver<UploadModelRequest> uploadModel(StreamObserver<UploadModelResponse> observer) {
        return new Parts<>(observer, UploadModelRequest::getContent, (first, content) -> {
            String id = Content.id(content);
            kept.put(id, Model.newBuilder().setContent(content).build());
            return UploadModelResponse.newBuilder().setId(id).build();
        });
    }

    @Override
    public StreamObserver<UploadTableRequest> uploadTable(StreamObserver<UploadTableResponse> observer) {
        return new Parts<>(observer, UploadTableRequest::getContent, (first, content) -> {
            String id = Content.id(content);
            Table.Builder table = Table.newBuilder();
            switch (first.getFormat()) {
                case ARROW -> table.setArrow(content);
                case PARQUET -> table.setParquet(content);
                default -> table.setCsv(content);
            }
            kept.put(id, table.build());
            return UploadTableResponse.newBuilder().setId(id).build();
        });
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    private <A> void answer(
            Message request, StatusRuntimeException missing, StreamObserver<A> observer, Runnable respond) {
        asked.add(request);
        ((ServerCallStreamObserver<A>) observer).setOnCancelHandler(cancelled::countDown);
        begun.countDown();
        StatusRuntimeException failure = failures.isEmpty() ? missing : failures.remove();
        if (failure != null) {
            observer.onError(failure);
            return;
        }
        if (request instanceof ExplainStreamRequest) {
            progress.forEach(step -> tell(observer, step));
        }
        if (endsEarly) {
            observer.onCompleted();
        } else if (answers) {
            try {
                respond.run();
                observer.onCompleted();
            } catch (StatusRuntimeException late) {
                observer.onError(late);
            }
        }
    }

    @SuppressWarnings("unchecked") // ExplainStream answers by these
    private static <A> void tell(StreamObserver<A> observer, ExplainStreamResponse step) {
        ((StreamObserver<ExplainStreamResponse>) observer).onNext(step);
    }

    private StatusRuntimeException missing(ExplainRequest request) {
        StatusRuntimeException model = missing("model", request.getModel().getId());
        return model == null ? missing("table", request.getTable().getId()) : model;
    }

    private StatusRuntimeException missing(String kind, String id) {
        return id.isEmpty() || (kept.containsKey(id) && !forgets)
                ? null
                : failure(Code.NOT_FOUND, reason("BLOB_NOT_FOUND"), field(kind + ".id"));
    }

    private static ExplainResponse response(ExplainRequest request) {
        ExplainResponse.Builder response = ExplainResponse.newBuilder();
        request.getMethodsList()
                .forEach(method -> response.addExplanationsBuilder().setOptions(method));
        response.getReceiptBuilder().setSeed(request.getSeed());
        return response.build();
    }

    /** What is made of all parts. */
    private interface Keep<Q, A> {
        A keep(Q first, ByteString content);
    }

    /** Puts a file together. */
    private final class Parts<Q extends Message, A> implements StreamObserver<Q> {
        private final Queue<Q> sent = new ArrayDeque<>();
        private final StreamObserver<A> observer;
        private final Function<Q, ByteString> content;
        private final Keep<Q, A> keep;

        Parts(StreamObserver<A> observer, Function<Q, ByteString> content, Keep<Q, A> keep) {
            this.observer = observer;
            this.content = content;
            this.keep = keep;
        }

        @Override
        public void onNext(Q part) {
            sent.add(part);
            parts.add(content.apply(part).size());
        }

        @Override
        public void onError(Throwable error) {
            cancelled.countDown();
        }

        @Override
        public void onCompleted() {
            if (!failures.isEmpty()) {
                observer.onError(failures.remove());
                return;
            }
            ByteString whole = sent.stream().map(content).reduce(ByteString.EMPTY, ByteString::concat);
            observer.onNext(keep.keep(sent.element(), whole));
            observer.onCompleted();
        }
    }

    private final class Authorizations implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            String found = headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
            authorizations.add(String.valueOf(found));
            return next.startCall(call, headers);
        }
    }
}
