package io.github.onnxplain;

/**
 * Is told how far a computation is.
 *
 * <pre>{@code
 * ExplainCall.builder().progress((done, planned) -> System.out.printf("%.0f of at most %.0f rows%n", done, planned));
 * }</pre>
 */
@FunctionalInterface
public interface ProgressListener {
    /**
     * Takes a step, on a thread of gRPC: return quickly. What is thrown ends the call.
     *
     * @param done rows predicted or found in the cache; rises
     * @param planned rows planned, at most
     */
    void onProgress(double done, double planned);
}
