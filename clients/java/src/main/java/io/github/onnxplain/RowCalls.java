package io.github.onnxplain;

import io.github.onnxplain.v1.CheckModelRequest;
import io.github.onnxplain.v1.CheckModelResponse;
import io.github.onnxplain.v1.DescribeTableRequest;
import io.github.onnxplain.v1.DescribeTableResponse;
import io.github.onnxplain.v1.PredictRequest;
import io.github.onnxplain.v1.PredictResponse;
import io.grpc.ManagedChannel;
import java.time.Duration;

/** What a client asks about rows of a table, which no method explains. */
abstract class RowCalls extends LongExplanations {
    RowCalls(ManagedChannel channel, Terms terms) {
        super(channel, terms);
    }

    /**
     * Predicts rows of a table, as an explanation would ask the model for them.
     *
     * <pre>{@code
     * PredictRequest options = PredictRequest.newBuilder().addRowIndices(0).addRowIndices(5).build();
     * client.predict(Models.file(Path.of("model.onnx")), Tables.file(Path.of("rows.csv")), options).getValuesList();
     * }</pre>
     *
     * @param model to ask
     * @param table with the rows
     * @param options those of the contract; model and table in it are replaced
     * @return output names, rows, and their predictions, row-major
     * @throws ExplainException where the server refuses, or does not answer
     */
    public PredictResponse predict(ModelSource model, TableSource table, PredictRequest options) {
        return predict(model, table, options, terms.timeout());
    }

    /**
     * Predicts rows of a table, within some time.
     *
     * @param model to ask
     * @param table with the rows
     * @param options those of the contract; model and table in it are replaced
     * @param timeout null for that of the client
     * @return output names, rows, and their predictions, row-major
     * @throws ExplainException where the server refuses, or does not answer
     */
    public PredictResponse predict(ModelSource model, TableSource table, PredictRequest options, Duration timeout) {
        PredictRequest whole = options.toBuilder()
                .setModel(model.message())
                .setTable(table.message())
                .build();
        Parcel<PredictRequest> parcel = new Parcel<>(whole, model.file(), table.file(), terms.messageLimit());
        return Calls.await(calls.run(
                timeout,
                exchange -> exchange.deliver(parcel, (stub, request) -> {
                    Reply<PredictResponse> reply = reply();
                    stub.predict(request, reply);
                    return reply.future();
                })));
    }

    /**
     * Compares a model with what the library that trained it predicted, which columns of the table hold.
     *
     * <pre>{@code
     * CheckModelRequest options = CheckModelRequest.newBuilder().addExpectedPredictionColumns("expected").build();
     * client.checkModel(Models.file(Path.of("model.onnx")), Tables.file(Path.of("rows.csv")), options).getComparison();
     * }</pre>
     *
     * @param model to check
     * @param table with the rows and the expected predictions
     * @param options those of the contract; model and table in it are replaced
     * @return differences, and their likely cause
     * @throws ExplainException where the server refuses, or does not answer
     */
    public CheckModelResponse checkModel(ModelSource model, TableSource table, CheckModelRequest options) {
        return checkModel(model, table, options, terms.timeout());
    }

    /**
     * Compares a model with what the library that trained it predicted, within some time.
     *
     * @param model to check
     * @param table with the rows and the expected predictions
     * @param options those of the contract; model and table in it are replaced
     * @param timeout null for that of the client
     * @return differences, and their likely cause
     * @throws ExplainException where the server refuses, or does not answer
     */
    public CheckModelResponse checkModel(
            ModelSource model, TableSource table, CheckModelRequest options, Duration timeout) {
        CheckModelRequest whole = options.toBuilder()
                .setModel(model.message())
                .setTable(table.message())
                .build();
        Parcel<CheckModelRequest> parcel = new Parcel<>(whole, model.file(), table.file(), terms.messageLimit());
        return Calls.await(calls.run(
                timeout,
                exchange -> exchange.deliver(parcel, (stub, request) -> {
                    Reply<CheckModelResponse> reply = reply();
                    stub.checkModel(request, reply);
                    return reply.future();
                })));
    }

    /**
     * Tells what a table holds.
     *
     * <pre>{@code
     * client.describeTable(Tables.file(Path.of("rows.csv"))).getTable().getColumnsList();
     * }</pre>
     *
     * @param table to describe
     * @return its columns, and its first rows
     * @throws ExplainException where the server refuses, or does not answer
     */
    public DescribeTableResponse describeTable(TableSource table) {
        return describeTable(table, null, DescribeTableRequest.getDefaultInstance());
    }

    /**
     * Tells what a table holds, and how a model would take it.
     *
     * @param table to describe
     * @param model whose features are matched with the columns; null for none
     * @param options those of the contract; model and table in it are replaced
     * @return its columns, the rows that the options choose, and the match
     * @throws ExplainException where the server refuses, or does not answer
     */
    public DescribeTableResponse describeTable(TableSource table, ModelSource model, DescribeTableRequest options) {
        return describeTable(table, model, options, terms.timeout());
    }

    /**
     * Tells what a table holds, within some time.
     *
     * @param table to describe
     * @param model whose features are matched with the columns; null for none
     * @param options those of the contract; model and table in it are replaced
     * @param timeout null for that of the client
     * @return its columns, the rows that the options choose, and the match
     * @throws ExplainException where the server refuses, or does not answer
     */
    public DescribeTableResponse describeTable(
            TableSource table, ModelSource model, DescribeTableRequest options, Duration timeout) {
        DescribeTableRequest.Builder whole = options.toBuilder().clearModel().setTable(table.message());
        if (model != null) {
            whole.setModel(model.message());
        }
        Parcel<DescribeTableRequest> parcel =
                new Parcel<>(whole.build(), model == null ? null : model.file(), table.file(), terms.messageLimit());
        return Calls.await(calls.run(
                timeout,
                exchange -> exchange.deliver(parcel, (stub, request) -> {
                    Reply<DescribeTableResponse> reply = reply();
                    stub.describeTable(request, reply);
                    return reply.future();
                })));
    }
}
