package io.github.onnxplain;

import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;

/**
 * A call that ended without an answer, whoever ended it.
 *
 * <pre>{@code
 * try {
 *     client.explain(call);
 * } catch (ExplainException error) {
 *     if (error.getReason().equals("UNKNOWN_FEATURE")) {
 *         System.err.println(error.getField() + ": " + error.getMessage());
 *     }
 * }
 * }</pre>
 */
public final class ExplainException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String reason;
    private final String field;
    private final Status.Code code;
    private final Duration retryAfter;

    ExplainException(
            String reason, String message, String field, Status.Code code, Duration retryAfter, Throwable cause) {
        super(message, cause);
        this.reason = reason;
        this.field = field;
        this.code = code;
        this.retryAfter = retryAfter;
    }

    /** The same error, seen by the thread that waits for the answer. */
    ExplainException(ExplainException error) {
        this(error.reason, error.getMessage(), error.field, error.code, error.retryAfter, error);
    }

    /** A call that the caller ended. */
    static ExplainException cancelled(Throwable cause) {
        Status.Code code = Status.Code.CANCELLED;
        return new ExplainException(code.name(), "the call was cancelled", "", code, null, cause);
    }

    /** A call that the server ended too early. */
    static ExplainException noAnswer() {
        Status.Code code = Status.Code.INTERNAL;
        return new ExplainException(code.name(), "the call ended without an answer", "", code, null, null);
    }

    /** A call whose answer is no message of the contract. */
    static ExplainException unreadable(Throwable cause) {
        Status.Code code = Status.Code.INTERNAL;
        return new ExplainException(
                code.name(), "the answer cannot be read: " + cause.getMessage(), "", code, null, cause);
    }

    /**
     * Returns what to act upon, like {@code "MISSING_COLUMN"}: the server's vocabulary, which may grow.
     *
     * @return the reason; where the call never reached the service, or was ended on the way, the name of the code
     */
    public String getReason() {
        return reason;
    }

    /**
     * Returns the field of the request that the error is about.
     *
     * @return a path like {@code "methods[0].interactions.features"}; may be empty
     */
    public String getField() {
        return field;
    }

    /**
     * Returns the code of gRPC.
     *
     * @return the code; {@code UNAVAILABLE} where nobody answered
     */
    public Status.Code getCode() {
        return code;
    }

    /**
     * Returns after how long the same may succeed.
     *
     * @return the time; empty where the server does not say
     */
    public Optional<Duration> getRetryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /** Returns the field if there is one, the message, and the reason. */
    @Override
    public String toString() {
        String where = field.isEmpty() ? "" : field + ": ";
        return getClass().getName() + ": " + where + getMessage() + " (" + reason + ")";
    }
}
