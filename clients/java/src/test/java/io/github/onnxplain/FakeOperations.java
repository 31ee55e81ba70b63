package io.github.onnxplain;

import com.google.longrunning.CancelOperationRequest;
import com.google.longrunning.DeleteOperationRequest;
import com.google.longrunning.GetOperationRequest;
import com.google.longrunning.ListOperationsRequest;
import com.google.longrunning.ListOperationsResponse;
import com.google.longrunning.Operation;
import com.google.longrunning.OperationsGrpc.OperationsImplBase;
import com.google.longrunning.WaitOperationRequest;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.ExplanationPlan;
import io.github.onnxplain.v1.ExplanationServiceGrpc.ExplanationServiceImplBase;
import io.github.onnxplain.v1.OperationMetadata;
import io.github.onnxplain.v1.PartialExplanation;
import io.github.onnxplain.v1.ReadExplanationRequest;
import io.github.onnxplain.v1.ReadExplanationResponse;
import io.github.onnxplain.v1.ReadPartialExplanationsRequest;
import io.github.onnxplain.v1.StartExplanationRequest;
import io.grpc.Server;
import io.grpc.Status.Code;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A server in this process that keeps one operation, which ends at the third wait. */
final class FakeOperations extends OperationsImplBase implements AutoCloseable {
    final ExplainResponse answer;
    final List<StartExplanationRequest> started = new CopyOnWriteArrayList<>();
    final List<String> called = new CopyOnWriteArrayList<>();
    final AtomicInteger waits = new AtomicInteger();
    volatile com.google.rpc.Status failure;
    volatile List<PartialExplanation> parts = List.of();
    volatile boolean endsInline;
    volatile boolean breaksAtTheEnd;

    private final String name = InProcessServerBuilder.generateName();
    private final Server server;

    FakeOperations() throws IOException {
        ExplainResponse.Builder whole = ExplainResponse.newBuilder();
        whole.getReceiptBuilder().setSeed(5).setModelName("a model");
        answer = whole.build();
        server = InProcessServerBuilder.forName(name)
                .addService(this)
                .addService(new Service())
                .build()
                .start();
    }

    OnnxplainClient client() {
        return Onnxplain.connect("localhost:1")
                .over(InProcessChannelBuilder.forName(name).build());
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    @Override
    public void getOperation(GetOperationRequest request, StreamObserver<Operation> observer) {
        called.add("get " + request.getName());
        end(observer, state());
    }

    @Override
    public void waitOperation(WaitOperationRequest request, StreamObserver<Operation> observer) {
        waits.incrementAndGet();
        end(observer, state());
    }

    @Override
    public void listOperations(ListOperationsRequest request, StreamObserver<ListOperationsResponse> observer) {
        called.add("list " + request.getFilter() + request.getPageToken());
        ListOperationsResponse.Builder page = ListOperationsResponse.newBuilder();
        switch (request.getPageToken()) {
            case "" -> page.addOperations(state()).setNextPageToken(" empty");
            case " empty" -> page.setNextPageToken(" last");
            default -> page.addOperations(state());
        }
        end(observer, page.build());
    }

    @Override
    public void cancelOperation(CancelOperationRequest request, StreamObserver<Empty> observer) {
        called.add("cancel " + request.getName());
        end(observer, Empty.getDefaultInstance());
    }

    @Override
    public void deleteOperation(DeleteOperationRequest request, StreamObserver<Empty> observer) {
        called.add("delete " + request.getName());
        end(observer, Empty.getDefaultInstance());
    }

    private Operation state() {
        OperationMetadata.Builder metadata = OperationMetadata.newBuilder().setState(OperationMetadata.State.RUNNING);
        metadata.getProgressBuilder().setDone(waits.get()).setPlanned(3);
        boolean done = waits.get() >= 3;
        Operation.Builder operation = Operation.newBuilder()
                .setName("operations/1")
                .setMetadata(Any.pack(metadata.build()))
                .setDone(done);
        if (done && failure != null) {
            operation.setError(failure);
        } else if (done && endsInline) {
            operation.setResponse(Any.pack(answer));
        }
        return operation.build();
    }

    private static <A> void end(StreamObserver<A> observer, A message) {
        observer.onNext(message);
        observer.onCompleted();
    }

    /** The methods of the explanation service that are about operations. */
    private final class Service extends ExplanationServiceImplBase {
        @Override
        public void planExplanation(ExplainRequest request, StreamObserver<ExplanationPlan> observer) {
            end(
                    observer,
                    ExplanationPlan.newBuilder()
                            .setPredictedRowCount(request.getSeed())
                            .build());
        }

        @Override
        public void startExplanation(StartExplanationRequest request, StreamObserver<Operation> observer) {
            started.add(request);
            end(observer, state());
        }

        /** Breaks off behind the first bytes; the client goes on there. */
        @Override
        public void readExplanation(ReadExplanationRequest request, StreamObserver<ReadExplanationResponse> observer) {
            int offset = (int) request.getOffset();
            called.add("read " + offset);
            ByteString content = answer.toByteString();
            int end = offset > 0 || breaksAtTheEnd ? content.size() : 5;
            if (end > offset) {
                observer.onNext(ReadExplanationResponse.newBuilder()
                        .setContent(content.substring(offset, end))
                        .build());
            }
            endOrBreak(observer, offset == 0);
        }

        /** Breaks off behind the first part, if there is one, when it is first asked. */
        @Override
        public void readPartialExplanations(
                ReadPartialExplanationsRequest request, StreamObserver<PartialExplanation> observer) {
            boolean breaks = !parts.isEmpty() && !called.contains("partials");
            called.add("partials");
            parts.subList(0, breaks ? 1 : parts.size()).forEach(observer::onNext);
            endOrBreak(observer, breaks);
        }

        private static void endOrBreak(StreamObserver<?> observer, boolean breaks) {
            if (breaks) {
                observer.onError(FakeServer.failure(Code.UNAVAILABLE, FakeServer.reason("UNAVAILABLE")));
            } else {
                observer.onCompleted();
            }
        }
    }
}
