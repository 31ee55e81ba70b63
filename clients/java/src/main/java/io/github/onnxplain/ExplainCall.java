package io.github.onnxplain;

import io.github.onnxplain.v1.ExplainRequest;
import io.github.onnxplain.v1.InputColumns;
import io.github.onnxplain.v1.MethodOptions;
import io.github.onnxplain.v1.Model;
import io.github.onnxplain.v1.ModelDescription;
import io.github.onnxplain.v1.Reference;
import io.github.onnxplain.v1.Table;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Objects;

/**
 * What to explain, on which rows, and how. Can be asked any number of times.
 *
 * <pre>{@code
 * ExplainCall call = ExplainCall.builder()
 *         .model(Models.file(Path.of("model.onnx")))
 *         .table(Tables.file(Path.of("rows.csv.gz")))
 *         .targetColumn("charges")
 *         .method(InteractionsOptions.newBuilder().setPairwiseFeatureCount(3).build())
 *         .method(PermutationImportanceOptions.getDefaultInstance())
 *         .build();
 * }</pre>
 */
public final class ExplainCall {
    private final ExplainRequest request;
    private final Model modelFile;
    private final Table tableFile;
    private final Duration timeout;
    private final ProgressListener progress;

    private ExplainCall(Builder builder) {
        this.request = builder.request.build();
        this.modelFile = builder.modelFile;
        this.tableFile = builder.tableFile;
        this.timeout = builder.timeout;
        this.progress = builder.progress;
    }

    /**
     * Begins an empty call.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder(ExplainRequest.newBuilder());
    }

    /**
     * Begins with a message of the contract.
     *
     * @param request what is changed by the builder from there on
     * @return a builder
     */
    public static Builder builder(ExplainRequest request) {
        return new Builder(request.toBuilder());
    }

    /**
     * Returns what is sent, as long as it fits into a message.
     *
     * @return a message of the contract
     */
    public ExplainRequest request() {
        return request;
    }

    Model modelFile() {
        return modelFile;
    }

    Table tableFile() {
        return tableFile;
    }

    Duration timeout() {
        return timeout;
    }

    ProgressListener progress() {
        return progress;
    }

    /** Makes calls; the contract tells defaults and ranges. */
    public static final class Builder extends MethodsBuilder<Builder> {
        private final ExplainRequest.Builder request;
        private Model modelFile;
        private Table tableFile;
        private Duration timeout;
        private ProgressListener progress;

        private Builder(ExplainRequest.Builder request) {
            this.request = request;
        }

        /**
         * Names the model. Only sequences that bring weights need none.
         *
         * @param model from {@link Models}, or what {@link OnnxplainClient#uploadModel} returned
         * @return this builder
         */
        public Builder model(ModelSource model) {
            request.setModel(model.message());
            modelFile = model.file();
            return this;
        }

        /**
         * Names the rows to explain on. Few methods need none.
         *
         * @param table from {@link Tables}, or what {@link OnnxplainClient#uploadTable} returned
         * @return this builder
         */
        public Builder table(TableSource table) {
            request.setTable(table.message());
            tableFile = table.file();
            return this;
        }

        /**
         * Names the columns that a model of one matrix is fed.
         *
         * @param names in their order; default: every column but target and weight, in table order
         * @return this builder
         */
        public Builder featureColumns(String... names) {
            return featureColumns(Arrays.asList(names));
        }

        /**
         * Names the columns that a model of one matrix is fed.
         *
         * @param names in their order; default: every column but target and weight, in table order
         * @return this builder
         */
        public Builder featureColumns(Collection<String> names) {
            request.clearFeatureColumns().addAllFeatureColumns(names);
            return this;
        }

        /**
         * Names the columns that one input of a model of several inputs takes; call it once for each input.
         *
         * @param input name of the input
         * @param columns its columns, in its order
         * @return this builder
         */
        public Builder inputColumns(String input, String... columns) {
            request.addInputColumns(InputColumns.newBuilder().setInput(input).addAllColumns(Arrays.asList(columns)));
            return this;
        }

        /**
         * Names the column with the true values.
         *
         * @param name of a column of the table
         * @return this builder
         */
        public Builder targetColumn(String name) {
            request.setTargetColumn(name);
            return this;
        }

        /**
         * Names the columns with the true values of a model of several outputs, in place of {@link #targetColumn}.
         *
         * @param names one for each output, in their order, or called like outputs
         * @return this builder
         */
        public Builder targetColumns(String... names) {
            request.clearTargetColumns().addAllTargetColumns(Arrays.asList(names));
            return this;
        }

        /**
         * Names the columns with what the training library predicts, which the receipt compares with the model.
         *
         * @param names one for each output that is explained, or one for each output of the model, in their order
         * @return this builder
         */
        public Builder expectedPredictionColumns(String... names) {
            request.clearExpectedPredictionColumns().addAllExpectedPredictionColumns(Arrays.asList(names));
            return this;
        }

        /**
         * Names the column with case weights.
         *
         * @param name of a column of the table
         * @return this builder
         */
        public Builder weightColumn(String name) {
            request.setWeightColumn(name);
            return this;
        }

        /**
         * Names the column whose equal values make the rows of a cluster, resampled as a whole.
         *
         * @param name of a column of the table
         * @return this builder
         */
        public Builder clusterColumn(String name) {
            request.setClusterColumn(name);
            return this;
        }

        /**
         * Keeps replicates in the answer, so that it can be the {@link #reference} of later ones.
         *
         * @param areKept default: false
         * @return this builder
         */
        public Builder replicates(boolean areKept) {
            request.setReplicates(areKept);
            return this;
        }

        /**
         * Compares the answer with a kept one, which names methods, seed and rows in place of this call.
         *
         * @param reference the answer, made with {@link #replicates}, and how both are compared
         * @return this builder
         */
        public Builder reference(Reference reference) {
            request.setReference(reference);
            return this;
        }

        /**
         * Chooses prediction columns.
         *
         * @param indices from 0; default: the second of a binary classifier, all of any other model
         * @return this builder
         */
        public Builder outputIndices(int... indices) {
            request.clearOutputIndices();
            Arrays.stream(indices).forEach(request::addOutputIndices);
            return this;
        }

        /**
         * Chooses prediction columns by name, in place of {@link #outputIndices}.
         *
         * @param names of outputs of the model, none twice
         * @return this builder
         */
        public Builder outputs(String... names) {
            request.clearOutputs().addAllOutputs(Arrays.asList(names));
            return this;
        }

        /**
         * Explains expressions over the outputs of the model, in their place.
         *
         * @param expressions like "exp(y)" or "price = exp(y)"; default: the outputs
         * @return this builder
         */
        public Builder prediction(String... expressions) {
            request.clearPrediction().addAllPrediction(Arrays.asList(expressions));
            return this;
        }

        /**
         * Sets the time that the methods may take, about; what does not fit is on fewer rows.
         *
         * @param seconds at least 1; default: 60 for an overview, no limit for methods
         * @return this builder
         */
        public Builder budgetSeconds(double seconds) {
            request.setBudgetSeconds(seconds);
            return this;
        }

        /**
         * Sets the rows that the model may predict for the methods; what does not fit is on fewer rows.
         *
         * @param count at least 1; default: no limit
         * @return this builder
         */
        public Builder budgetPredictedRowCount(double count) {
            request.setBudgetPredictedRowCount(count);
            return this;
        }

        /**
         * Sets whether a stream or an operation also gives what is finished so far, as {@link ExplainEvent.Partial}.
         *
         * @param partial default: false
         * @return this builder
         */
        public Builder partial(boolean partial) {
            request.setPartial(partial);
            return this;
        }

        /**
         * Chooses the scale of the predictions.
         *
         * @param scale default: RESPONSE
         * @return this builder
         */
        public Builder scale(ModelDescription.Scale scale) {
            request.setScale(scale);
            return this;
        }

        /**
         * Chooses what computes the effects.
         *
         * @param engine default: chosen for the model
         * @return this builder
         */
        public Builder engine(ExplainRequest.Engine engine) {
            request.setEngine(engine);
            return this;
        }

        /**
         * Sets how many rows are drawn.
         *
         * @param count at least 2
         * @return this builder
         */
        public Builder rowCount(int count) {
            request.setRowCount(count);
            return this;
        }

        /**
         * Sets the seed of the draw of rows.
         *
         * @param seed at least 0; default 0
         * @return this builder
         */
        public Builder seed(int seed) {
            request.setSeed(seed);
            return this;
        }

        /**
         * Names the target's classes, as the target has them.
         *
         * @param labels in the order of the model's outputs; for a model with one output, two labels, the negative
         *     first; default: each class is the output of the same name or number
         * @return this builder
         */
        public Builder classLabels(String... labels) {
            request.clearClassLabels().addAllClassLabels(Arrays.asList(labels));
            return this;
        }

        /**
         * Names the model in the titles of plots and reports.
         *
         * @param name like that of its file, at most 255 letters; default: titles do not name the model
         * @return this builder
         */
        public Builder modelName(String name) {
            request.setModelName(name);
            return this;
        }

        /**
         * Names an address where the server also writes the answer.
         *
         * @param uri below a prefix that the server's operator lists for writing; default: the answer is only returned
         * @return this builder
         */
        public Builder resultUri(String uri) {
            request.setResultUri(uri);
            return this;
        }

        /**
         * Chooses whether plots return with the results.
         *
         * @param wanted default true
         * @return this builder
         */
        public Builder plots(boolean wanted) {
            request.setPlots(wanted);
            return this;
        }

        /**
         * Chooses whether to explain a model that answers the same row differently, with a warning.
         *
         * @param allowed default false: such a model is refused
         * @return this builder
         */
        public Builder allowInconsistentModel(boolean allowed) {
            request.setAllowInconsistentModel(allowed);
            return this;
        }

        @Override
        public Builder method(MethodOptions method) {
            request.addMethods(method);
            return this;
        }

        /**
         * Sets the time of this call; attempts, pauses and uploads are in it.
         *
         * @param timeout more than zero; default: the client's
         * @return this builder
         */
        public Builder timeout(Duration timeout) {
            this.timeout = Terms.checked(timeout);
            return this;
        }

        /**
         * Lets a listener know how far the computation is. Not for {@link OnnxplainClient#explainStream}, which tells
         * it anyway, nor for {@link OnnxplainClient#start}, whose {@link Operation#await} takes one.
         *
         * @param listener told on the way
         * @return this builder
         */
        public Builder progress(ProgressListener listener) {
            this.progress = Objects.requireNonNull(listener, "listener");
            return this;
        }

        /**
         * Makes the call; the builder can go on.
         *
         * @return the call
         */
        public ExplainCall build() {
            return new ExplainCall(this);
        }
    }
}
