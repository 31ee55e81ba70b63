package io.github.onnxplain;

import io.github.onnxplain.v1.Model;

/**
 * A model to explain; {@link Models} makes them, and {@link OnnxplainClient#uploadModel(ModelSource)}.
 *
 * <pre>{@code
 * String id = client.uploadModel(Models.file(Path.of("model.onnx"))).id();
 * }</pre>
 */
public final class ModelSource {
    private final Model message;
    private final Model file;

    ModelSource(Model message, Model file) {
        this.message = message;
        this.file = file;
    }

    /** Names a model that the server keeps; its file is sent again where the server has it no longer. */
    static ModelSource uploaded(String id, Model file) {
        return new ModelSource(Model.newBuilder().setId(id).build(), file);
    }

    /**
     * Returns the id of an uploaded model.
     *
     * @return {@code "sha256:"} and the hexadecimal digest of the model in one piece; empty where the model goes with
     *     the request
     */
    public String id() {
        return message.getId();
    }

    /**
     * Returns the model as it goes into a request.
     *
     * @return a message of the contract
     */
    public Model message() {
        return message;
    }

    /** The file of what is named by an id; null where it is not at hand, or goes with the request. */
    Model file() {
        return file;
    }
}
