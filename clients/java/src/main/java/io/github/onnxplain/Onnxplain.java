package io.github.onnxplain;

/**
 * The way in.
 *
 * <pre>{@code
 * try (OnnxplainClient client = Onnxplain.connect("localhost:8081").build()) {
 *     Explanations found = client.explain(ExplainCall.builder()
 *             .model(Models.file(Path.of("model.onnx")))
 *             .table(Tables.file(Path.of("rows.csv.gz")))
 *             .method(InteractionsOptions.newBuilder().setPairwiseFeatureCount(3).build())
 *             .build());
 *     System.out.println(found.interactions().getTotal().getValuesList());
 * }
 * }</pre>
 */
public final class Onnxplain {
    private Onnxplain() {}

    /**
     * Begins a client. Nothing is sent before its first call: a server that is missing shows there.
     *
     * @param endpoint host and port of the server, like {@code "localhost:8081"}
     * @return what can be told about the connection, and then makes the client
     */
    public static ClientBuilder connect(String endpoint) {
        return new ClientBuilder(endpoint);
    }
}
