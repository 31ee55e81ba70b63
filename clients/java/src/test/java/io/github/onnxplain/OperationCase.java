package io.github.onnxplain;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.Map;

/** A case that is started as an operation; see clients/tests/README.md. */
final class OperationCase {
    private final OnnxplainClient client;
    private final JsonObject question;

    OperationCase(OnnxplainClient client, JsonObject question) {
        this.client = client;
        this.question = question;
    }

    /** Starts the call twice by one name, waits for the end, finds it by its labels, and has it forgotten. */
    JsonObject answer(ExplainCall call) {
        Operation operation = client.start(call, options());
        JsonArray names = new JsonArray();
        names.add(operation.name());
        names.add(client.start(call, options()).name());
        if (question.has("cancel_at_once")) {
            operation.cancel();
        }
        JsonArray progress = new JsonArray();
        operation.await(null, (done, planned) -> progress.add(Conformance.pair(done, planned)));
        JsonObject answer = result(operation);
        answer.add("names", names);
        answer.add("progress", progress);
        finish(operation, answer);
        return answer;
    }

    private StartOptions options() {
        StartOptions options = StartOptions.NONE;
        if (question.has("request_id")) {
            options = options.withRequestId(question.get("request_id").getAsString());
        }
        if (question.has("labels")) {
            for (Map.Entry<String, JsonElement> label :
                    question.getAsJsonObject("labels").entrySet()) {
                options = options.withLabel(label.getKey(), label.getValue().getAsString());
            }
        }
        return options;
    }

    private static JsonObject result(Operation operation) {
        try {
            JsonObject answer = new JsonObject();
            answer.add("response", JsonParser.parseString(operation.result().toJson()));
            return answer;
        } catch (ExplainException error) {
            return Conformance.error(error);
        }
    }

    /** Tells what the server has of an operation that has ended, before and after it is deleted. */
    private void finish(Operation ended, JsonObject answer) {
        answer.addProperty("state", client.operation(ended.name()).state().name());
        JsonArray listed = new JsonArray();
        String filter = question.has("filter") ? question.get("filter").getAsString() : "";
        client.operations(filter).forEach(found -> listed.add(found.name()));
        answer.add("listed", listed);
        if (question.getAsJsonObject("request").has("partial")) {
            answer.add("partials", partials(ended));
        }
        ended.delete();
        try {
            ended.refresh();
        } catch (ExplainException error) {
            answer.addProperty("deleted", error.getReason());
        }
    }

    private static JsonArray partials(Operation operation) {
        JsonArray parts = new JsonArray();
        for (ExplainEvent.Partial part : operation.partials()) {
            JsonObject told = new JsonObject();
            told.addProperty("index", part.index());
            told.addProperty("isFinal", part.isFinal());
            parts.add(told);
        }
        return parts;
    }
}
