package io.github.onnxplain;

import io.grpc.Deadline;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * The attempts at one call, and the pauses between them.
 *
 * <p>What failed because nobody answered, or because the server had too much to do just then, is tried again:
 * explaining changes nothing, so twice is as good as once. What the server refused stays refused.
 */
final class Attempts {
    private static final Duration FIRST = Duration.ofMillis(100);
    private static final Duration MOST = Duration.ofSeconds(2);

    private final Deadline deadline;
    private int left;
    private Duration longest = FIRST;

    /**
     * Begins a call.
     *
     * @param retryCount attempts after the first one
     * @param timeout for all attempts and pauses together; null for none
     */
    Attempts(int retryCount, Duration timeout) {
        this.left = retryCount;
        this.deadline = timeout == null ? null : Deadline.after(nanos(timeout), TimeUnit.NANOSECONDS);
    }

    /** When the call must be over; null where it need not. */
    Deadline deadline() {
        return deadline;
    }

    /**
     * Tells how long to wait before the next attempt; empty where there is none.
     *
     * <p>Each pause is about twice as long as the one before it, with chance in it, so that many clients do not return
     * at the same moment; and no shorter than the server asked for.
     */
    Optional<Duration> pause(ExplainException error) {
        double chance = ThreadLocalRandom.current().nextDouble(0.5, 1.0);
        Duration pause = error.getRetryAfter().orElse(Duration.ZERO).plusNanos((long) (chance * longest.toNanos()));
        if (left == 0 || !mayPass(error) || !fits(pause)) {
            return Optional.empty();
        }
        left--;
        longest = longest.multipliedBy(2).compareTo(MOST) < 0 ? longest.multipliedBy(2) : MOST;
        return Optional.of(pause);
    }

    private boolean fits(Duration pause) {
        return deadline == null || nanos(pause) < deadline.timeRemaining(TimeUnit.NANOSECONDS);
    }

    private static boolean mayPass(ExplainException error) {
        // Without a time to come back, this is a message over the limit, now and always. A quota has room after
        // minutes: the caller decides whether to wait for them.
        boolean busy = error.getCode() == Code.RESOURCE_EXHAUSTED
                && error.getRetryAfter().isPresent()
                && !error.getReason().equals("QUOTA_EXCEEDED");
        return busy || error.getCode() == Code.UNAVAILABLE || wasCut(error);
    }

    /**
     * Tells whether a server that closed has ended the call without a word of its own.
     *
     * <p>Who cancels a call, or closes the client, is told so in other words.
     */
    private static boolean wasCut(ExplainException error) {
        return error.getCode() == Code.CANCELLED && "CANCELLED".equals(error.getMessage());
    }

    /** Nanoseconds of a duration; what does not fit is as good as the most. */
    static long nanos(Duration duration) {
        return duration.getSeconds() >= Long.MAX_VALUE / 1_000_000_000L ? Long.MAX_VALUE : duration.toNanos();
    }
}
