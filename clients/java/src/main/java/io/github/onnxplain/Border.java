package io.github.onnxplain;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Where errors of gRPC become this client's: once, and nowhere else. */
final class Border {
    private Border() {}

    /** Translates what a call to `endpoint` ended with. */
    static ExplainException translate(Throwable error, String endpoint) {
        Status status = Status.fromThrowable(error);
        com.google.rpc.Status details = details(error);
        Status.Code code = status.getCode();
        String reason =
                detail(details, ErrorInfo.class).map(ErrorInfo::getReason).orElse("");
        String message = details.getMessage().isEmpty() ? text(status) : details.getMessage();
        if (reason.isEmpty() && code == Status.Code.UNAVAILABLE) {
            message = "no answer from " + endpoint + ": " + message + "; check that a server listens there";
        }
        return new ExplainException(
                reason.isEmpty() ? code.name() : reason, message, field(details), code, retryAfter(details), error);
    }

    /** Translates the error of an operation of `endpoint`. */
    static ExplainException translate(com.google.rpc.Status status, String endpoint) {
        return translate(StatusProto.toStatusRuntimeException(status), endpoint);
    }

    /** What gRPC says itself: its own words, and those of what happened below it. */
    private static String text(Status status) {
        String cause = status.getCause() == null ? null : status.getCause().getMessage();
        String text = Stream.of(Optional.ofNullable(status.getDescription()), Optional.ofNullable(cause))
                .flatMap(Optional::stream)
                .distinct()
                .collect(Collectors.joining(": "));
        return text.isEmpty() ? "the call ended without a message" : text;
    }

    private static String field(com.google.rpc.Status details) {
        return detail(details, BadRequest.class)
                .filter(request -> request.getFieldViolationsCount() > 0)
                .map(request -> request.getFieldViolations(0).getField())
                .orElse("");
    }

    private static Duration retryAfter(com.google.rpc.Status details) {
        return detail(details, RetryInfo.class)
                .filter(RetryInfo::hasRetryDelay)
                .map(RetryInfo::getRetryDelay)
                .map(delay -> Duration.ofSeconds(delay.getSeconds(), delay.getNanos()))
                .orElse(null);
    }

    /** The details that came with an error; empty where none did. */
    private static com.google.rpc.Status details(Throwable error) {
        try {
            com.google.rpc.Status details = StatusProto.fromThrowable(error);
            return details == null ? com.google.rpc.Status.getDefaultInstance() : details;
        } catch (IllegalArgumentException mangled) {
            // A proxy may have mangled them; the code and its text still tell what happened.
            return com.google.rpc.Status.getDefaultInstance();
        }
    }

    private static <D extends Message> Optional<D> detail(com.google.rpc.Status details, Class<D> type) {
        return details.getDetailsList().stream()
                .filter(any -> any.is(type))
                .findFirst()
                .flatMap(any -> read(any, type));
    }

    private static <D extends Message> Optional<D> read(Any any, Class<D> type) {
        try {
            return Optional.of(any.unpack(type));
        } catch (InvalidProtocolBufferException mangled) {
            return Optional.empty();
        }
    }
}
