package io.github.onnxplain;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.OperationMetadata;
import io.github.onnxplain.v1.Progress;
import io.grpc.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * An explanation that a server computes and keeps, as it was when last asked for; for one thread at a time.
 * {@link OnnxplainClient#start(ExplainCall)} makes it, and {@link OnnxplainClient#operation} finds it again.
 *
 * <pre>{@code
 * Operation operation = client.start(call);
 * operation.await(Duration.ofHours(1), (done, planned) -> System.out.printf("%.0f of %.0f rows%n", done, planned));
 * Explanations found = operation.result();
 * }</pre>
 */
public final class Operation {
    // The wait of one call, after which progress is told; and the pause after one that the server ended at once.
    private static final Duration STEP = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofMillis(200);

    private final OperationCalls calls;
    private com.google.longrunning.Operation message;
    private OperationMetadata metadata;

    Operation(com.google.longrunning.Operation message, OperationCalls calls) {
        this.calls = calls;
        update(message);
    }

    /**
     * Returns what {@link OnnxplainClient#operation} finds it by.
     *
     * @return {@code "operations/"} and an id
     */
    public String name() {
        return message.getName();
    }

    /**
     * Returns all that the server tells about it: times, progress, labels, methods, its plan.
     *
     * @return a message of the contract
     */
    public OperationMetadata metadata() {
        return metadata;
    }

    /**
     * Returns its state.
     *
     * @return PENDING, RUNNING, SUCCEEDED, FAILED or CANCELLED
     */
    public OperationMetadata.State state() {
        return metadata.getState();
    }

    /**
     * Tells whether it has ended.
     *
     * @return true for SUCCEEDED, FAILED and CANCELLED
     */
    public boolean isDone() {
        return message.getDone();
    }

    /**
     * Returns why there is no answer.
     *
     * @return the error of one that FAILED or was CANCELLED; empty otherwise
     */
    public Optional<ExplainException> error() {
        return message.hasError()
                ? Optional.of(Border.translate(message.getError(), calls.terms().endpoint()))
                : Optional.empty();
    }

    /**
     * Asks for the current state.
     *
     * @return this operation
     * @throws ExplainException where the server has it no longer, or does not answer
     */
    public Operation refresh() {
        update(calls.get(name()));
        return this;
    }

    /**
     * Waits for the end, however long.
     *
     * @return this operation, which has ended
     * @throws ExplainException where the server has it no longer, or does not answer
     */
    public Operation await() {
        await(null, null);
        return this;
    }

    /**
     * Waits for the end. Progress is told on this thread, about once a second; it may fall when another server takes
     * the operation over.
     *
     * @param timeout not negative; null for no limit
     * @param progress null for none
     * @return whether it has ended
     * @throws ExplainException where the server has it no longer, or does not answer; the operation goes on
     */
    public boolean await(Duration timeout, ProgressListener progress) {
        if (timeout != null && timeout.isNegative()) {
            throw new IllegalArgumentException("timeout must not be negative, but is " + timeout);
        }
        Deadline end = timeout == null ? null : after(timeout);
        while (true) {
            Duration step = left(end, STEP);
            Deadline full = after(step);
            update(calls.await(name(), step));
            tell(progress);
            if (isDone() || (end != null && end.isExpired())) {
                return isDone();
            }
            if (!full.isExpired()) {
                pause(left(end, PAUSE));
            }
        }
    }

    /**
     * Waits for the end, however long, and returns the answer, however large.
     *
     * @return one result per method
     * @throws ExplainException of an operation that FAILED or was CANCELLED, or of a call
     */
    public Explanations result() {
        return result(null);
    }

    /**
     * Waits for the end, and returns the answer, however large.
     *
     * @param timeout for the wait; null for no limit
     * @return one result per method
     * @throws ExplainException of an operation that FAILED or was CANCELLED, or of a call; {@code OPERATION_NOT_DONE}
     *     after the timeout
     */
    public Explanations result(Duration timeout) {
        if (!isDone()) {
            await(timeout, null);
        }
        Optional<ExplainException> error = error();
        if (error.isPresent()) {
            throw error.get();
        }
        return new Explanations(
                message.hasResponse() ? unpacked(message.getResponse(), ExplainResponse.class) : calls.read(name()));
    }

    /**
     * Returns what is finished so far, where the request is {@code partial}: the latest of each method.
     *
     * @return parts in the order of the methods; none where the request is not partial, or nothing is finished yet
     * @throws ExplainException where the server has it no longer, or does not answer
     */
    public List<ExplainEvent.Partial> partials() {
        return calls.partials(name()).stream().map(ExplainEvent.Partial::of).toList();
    }

    /**
     * Asks the server to end it; {@link #await()} waits for the end. Nothing happens if it has ended.
     *
     * @throws ExplainException where the server has it no longer, or does not answer
     */
    public void cancel() {
        calls.cancel(name());
    }

    /**
     * Has the server forget it with its answer, and end it if it runs.
     *
     * @throws ExplainException where the server has it no longer, or does not answer
     */
    public void delete() {
        calls.delete(name());
    }

    /** Names it and its state. */
    @Override
    public String toString() {
        return "Operation[" + name() + " " + state() + "]";
    }

    private void update(com.google.longrunning.Operation now) {
        message = Objects.requireNonNull(now, "now");
        metadata = unpacked(now.getMetadata(), OperationMetadata.class);
    }

    private void tell(ProgressListener listener) {
        Progress progress = metadata.getProgress();
        if (listener != null && progress.getPlanned() > 0) {
            listener.onProgress(progress.getDone(), progress.getPlanned());
        }
    }

    private static Deadline after(Duration time) {
        return Deadline.after(Attempts.nanos(time), TimeUnit.NANOSECONDS);
    }

    /** Some time, or what is left until the end. */
    private static Duration left(Deadline end, Duration time) {
        if (end == null) {
            return time;
        }
        Duration left = Duration.ofNanos(Math.max(0, end.timeRemaining(TimeUnit.NANOSECONDS)));
        return left.compareTo(time) < 0 ? left : time;
    }

    private static void pause(Duration time) {
        try {
            TimeUnit.NANOSECONDS.sleep(time.toNanos());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw ExplainException.cancelled(error);
        }
    }

    private static <M extends Message> M unpacked(Any any, Class<M> type) {
        try {
            return any.unpack(type);
        } catch (InvalidProtocolBufferException error) {
            throw ExplainException.unreadable(error);
        }
    }
}
