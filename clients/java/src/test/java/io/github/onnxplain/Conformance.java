package io.github.onnxplain;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.github.onnxplain.v1.CheckModelRequest;
import io.github.onnxplain.v1.CompareExplanationsRequest;
import io.github.onnxplain.v1.CompareExplanationsResponse;
import io.github.onnxplain.v1.DescribeModelResponse;
import io.github.onnxplain.v1.DescribeTableRequest;
import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.PredictRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** This client as a runner; see tests/conformance/README.md. */
public final class Conformance {
    private static final JsonFormat.Printer JSON = JsonFormat.printer().alwaysPrintFieldsWithNoPresence();

    private final OnnxplainClient client;
    private final Path root;
    private final JsonObject question;

    private Conformance(OnnxplainClient client, Path root, JsonObject question) {
        this.client = client;
        this.root = root;
        this.question = question;
    }

    /**
     * Asks all named cases.
     *
     * @param arguments ROOT OUT NAME...
     * @throws IOException where files cannot be read or written
     */
    public static void main(String[] arguments) throws IOException {
        Path root = Path.of(arguments[0]);
        for (String name : Arrays.asList(arguments).subList(2, arguments.length)) {
            Path file = root.resolve("conformance/cases/" + name + ".json");
            JsonObject question = JsonParser.parseString(Files.readString(file)).getAsJsonObject();
            try (OnnxplainClient client = connect()) {
                JsonObject answer = new Conformance(client, root, question).answer();
                Files.writeString(Path.of(arguments[1], name + ".json"), answer.toString());
            }
        }
    }

    private static OnnxplainClient connect() {
        Map<String, String> told = new HashMap<>(System.getenv());
        told.values().removeIf(String::isEmpty);
        ClientBuilder builder = Onnxplain.connect(told.get("ONNXPLAIN_ENDPOINT"));
        if (told.containsKey("ONNXPLAIN_TOKEN")) {
            builder.token(told.get("ONNXPLAIN_TOKEN"));
        }
        if (told.containsKey("ONNXPLAIN_CA_FILE")) {
            builder.caFile(Path.of(told.get("ONNXPLAIN_CA_FILE")));
        }
        if (told.containsKey("ONNXPLAIN_CERTIFICATE_FILE")) {
            builder.clientCertificate(
                    Path.of(told.get("ONNXPLAIN_CERTIFICATE_FILE")), Path.of(told.get("ONNXPLAIN_KEY_FILE")));
        }
        return builder.build();
    }

    private JsonObject answer() throws InvalidProtocolBufferException {
        try {
            return switch (question.get("call").getAsString()) {
                case "explain" -> response(client.explain(call()));
                case "stream" -> stream();
                case "describe" -> describe();
                case "describe_table" -> describeTable();
                case "predict" -> predict();
                case "check" -> check();
                case "compare" -> compare();
                case "upload" -> upload();
                case "cancel" -> cancel();
                case "plan" -> response(JSON.print(client.plan(call())));
                case "operation" -> new OperationCase(client, question).answer(call());
                default -> throw new IllegalArgumentException("no such call: " + question.get("call"));
            };
        } catch (ExplainException error) {
            return error(error);
        }
    }

    private JsonObject stream() throws InvalidProtocolBufferException {
        JsonArray progress = new JsonArray();
        JsonObject answer = new JsonObject();
        try (ExplainEvents events = client.explainStream(call())) {
            for (ExplainEvent event : events) {
                if (event instanceof ExplainEvent.Progress step) {
                    progress.add(pair(step.done(), step.planned()));
                } else if (event instanceof ExplainEvent.Answer last) {
                    answer = response(last.explanations());
                }
            }
        }
        answer.add("progress", progress);
        return answer;
    }

    private JsonObject describe() throws InvalidProtocolBufferException {
        DescribeModelResponse whole = DescribeModelResponse.newBuilder()
                .setModel(client.describe(model()))
                .build();
        return response(JSON.print(whole));
    }

    private JsonObject describeTable() throws InvalidProtocolBufferException {
        DescribeTableRequest.Builder options = DescribeTableRequest.newBuilder();
        JsonFormat.parser().merge(question.get("request").toString(), options);
        ModelSource model = question.has("model") ? model() : null;
        return response(JSON.print(client.describeTable(rows(), model, options.build())));
    }

    private JsonObject predict() throws InvalidProtocolBufferException {
        PredictRequest.Builder options = PredictRequest.newBuilder();
        JsonFormat.parser().merge(question.get("request").toString(), options);
        return response(JSON.print(client.predict(model(), rows(), options.build())));
    }

    private JsonObject check() throws InvalidProtocolBufferException {
        CheckModelRequest.Builder options = CheckModelRequest.newBuilder();
        JsonFormat.parser().merge(question.get("request").toString(), options);
        return response(JSON.print(client.checkModel(model(), rows(), options.build())));
    }

    private JsonObject compare() throws InvalidProtocolBufferException {
        CompareExplanationsRequest.Builder request = CompareExplanationsRequest.newBuilder();
        JsonFormat.parser().merge(question.get("request").toString(), request);
        CompareExplanationsResponse whole = CompareExplanationsResponse.newBuilder()
                .setComparison(client.compareExplanations(request.build()))
                .build();
        return response(JSON.print(whole));
    }

    private TableSource rows() {
        return question.has("columns") ? Tables.columns(columns()) : table();
    }

    private JsonObject upload() throws InvalidProtocolBufferException {
        ModelSource model = client.uploadModel(model());
        TableSource table = client.uploadTable(table());
        JsonObject answer =
                response(client.explain(builder().model(model).table(table).build()));
        JsonObject ids = new JsonObject();
        ids.addProperty("model", model.id());
        ids.addProperty("table", table.id());
        answer.add("ids", ids);
        return answer;
    }

    /** Leaves by closing the client, once the call has begun: what it then throws is what callers see. */
    private JsonObject cancel() throws InvalidProtocolBufferException {
        CompletableFuture<Explanations> begun = client.explainAsync(call());
        long millis = (long) (1000 * question.get("cancel_after_seconds").getAsDouble());
        CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS).execute(client::close);
        return response(Calls.await(begun));
    }

    private ExplainCall call() throws InvalidProtocolBufferException {
        ExplainCall.Builder call = builder();
        if (question.has("model")) {
            call.model(model());
        }
        if (question.has("table")) {
            call.table(table());
        }
        if (question.has("columns")) {
            call.table(Tables.columns(columns()));
        }
        if (question.has("timeout_seconds")) {
            call.timeout(Duration.ofMillis(
                    (long) (1000 * question.get("timeout_seconds").getAsDouble())));
        }
        return call.build();
    }

    private ExplainCall.Builder builder() throws InvalidProtocolBufferException {
        ExplainRequest.Builder request = ExplainRequest.newBuilder();
        JsonFormat.parser().merge(question.get("request").toString(), request);
        return ExplainCall.builder(request.build());
    }

    private ModelSource model() {
        return Models.file(root.resolve(question.get("model").getAsString()));
    }

    private TableSource table() {
        return Tables.file(root.resolve(question.get("table").getAsString()));
    }

    private Map<String, List<Object>> columns() {
        Map<String, List<Object>> columns = new LinkedHashMap<>();
        for (Map.Entry<String, JsonElement> column :
                question.getAsJsonObject("columns").entrySet()) {
            columns.put(column.getKey(), list(column.getValue()));
        }
        return columns;
    }

    private static List<Object> list(JsonElement values) {
        List<Object> list = new ArrayList<>();
        for (JsonElement value : values.getAsJsonArray()) {
            if (value.isJsonNull()) {
                list.add(null);
            } else {
                list.add(value.getAsJsonPrimitive().isNumber() ? value.getAsDouble() : value.getAsString());
            }
        }
        return list;
    }

    static JsonArray pair(double done, double planned) {
        JsonArray pair = new JsonArray();
        pair.add(done);
        pair.add(planned);
        return pair;
    }

    private static JsonObject response(Explanations found) {
        return response(found.toJson());
    }

    private static JsonObject response(String json) {
        JsonObject answer = new JsonObject();
        answer.add("response", JsonParser.parseString(json));
        return answer;
    }

    static JsonObject error(ExplainException error) {
        JsonObject told = new JsonObject();
        told.addProperty("reason", error.getReason());
        told.addProperty("message", error.getMessage());
        told.addProperty("field", error.getField());
        told.addProperty("code", error.getCode().name());
        JsonObject answer = new JsonObject();
        answer.add("error", told);
        return answer;
    }
}
