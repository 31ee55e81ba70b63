package io.github.onnxplain;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * What an operation is started with, beside its request.
 *
 * <pre>{@code
 * Operation operation = client.start(call, StartOptions.NONE.withRequestId("nightly-1").withLabel("team", "risk"));
 * }</pre>
 *
 * @param requestId name of the request: starting an equal request again with the same name returns the same operation.
 *     Where it is empty, a random one makes repetitions safe
 * @param labels for the filter of {@link OnnxplainClient#operations(String)}
 */
public record StartOptions(String requestId, Map<String, String> labels) {
    /** Neither a name nor labels. */
    public static final StartOptions NONE = new StartOptions("", Map.of());

    /**
     * Copies the labels.
     *
     * @param requestId may be empty
     * @param labels may be empty
     */
    public StartOptions {
        Objects.requireNonNull(requestId, "requestId");
        labels = Map.copyOf(labels);
    }

    /**
     * Names the request.
     *
     * @param name letters, digits and {@code ._:/+=-}
     * @return the same options with this name
     */
    public StartOptions withRequestId(String name) {
        return new StartOptions(name, labels);
    }

    /**
     * Adds a label.
     *
     * @param key like {@code "team"}
     * @param value like {@code "risk"}
     * @return the same options with this label
     */
    public StartOptions withLabel(String key, String value) {
        Map<String, String> more = new HashMap<>(labels);
        more.put(key, value);
        return new StartOptions(requestId, more);
    }
}
