package io.github.onnxplain;

import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * What holds for every call.
 *
 * @param endpoint named in errors
 * @param token null for none
 * @param timeout of a call that names no other; null for none
 * @param messageLimit bytes that a message may have, both ways
 * @param retryCount attempts after a first one that met nobody, or a server with too much to do
 */
record Terms(String endpoint, Supplier<String> token, Duration timeout, int messageLimit, int retryCount) {
    // The largest part of a file that the contract allows.
    private static final int PART_BYTES = 1 << 20;
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    static Duration checked(Duration timeout) {
        if (Objects.requireNonNull(timeout, "timeout").isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("timeout must be more than zero, not " + timeout);
        }
        return timeout;
    }

    /** How many bytes of a file go into one message, which has some of its own. */
    int partBytes() {
        return Math.min(PART_BYTES, messageLimit / 2);
    }

    /** Begins a call that names this time, or null. */
    Attempts attempts(Duration named) {
        return new Attempts(retryCount, named == null ? timeout : named);
    }

    /** Puts on a stub what goes with each of its calls; asks for the token of the moment. */
    <S extends AbstractStub<S>> S on(S stub, Deadline deadline) {
        S limited = stub.withMaxOutboundMessageSize(messageLimit).withDeadline(deadline);
        if (token == null) {
            return limited;
        }
        Metadata headers = new Metadata();
        headers.put(AUTHORIZATION, "Bearer " + Tokens.check(token.get()));
        return limited.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
}
