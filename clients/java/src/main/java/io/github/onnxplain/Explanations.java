package io.github.onnxplain;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.github.onnxplain.v1.ExplainResponse;
import io.github.onnxplain.v1.Explanation;
import io.github.onnxplain.v1.Explanation.ResultCase;
import io.github.onnxplain.v1.ModelDescription;
import io.github.onnxplain.v1.Plot;
import io.github.onnxplain.v1.Receipt;
import io.github.onnxplain.v1.Warning;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * The results, in the order of the methods asked for, and how they were made.
 *
 * <pre>{@code
 * found.interactions().getTotal().getValues(0);
 * found.plot("pairwise").getVegaLite();
 * found.receipt().getPredictedRowCount();
 * }</pre>
 */
public final class Explanations extends ResultsByMethod {
    private static final JsonFormat.Printer JSON = JsonFormat.printer().alwaysPrintFieldsWithNoPresence();

    private final ExplainResponse message;

    Explanations(ExplainResponse message) {
        this.message = message;
    }

    /**
     * Returns the answer as it came.
     *
     * @return a message of the contract
     */
    public ExplainResponse message() {
        return message;
    }

    /**
     * Returns all results.
     *
     * @return one per method, in the order asked for
     */
    public List<Explanation> results() {
        return message.getExplanationsList();
    }

    /**
     * Returns the pictures of all results, in their order.
     *
     * @return pictures; {@code getVegaLite()} is the JSON text of each, with its data inside
     */
    public List<Plot> plots() {
        return results().stream()
                .flatMap(result -> result.getPlotsList().stream())
                .toList();
    }

    /**
     * Returns the picture of that name.
     *
     * @param name like {@code "pairwise"}
     * @return the only one
     * @throws NoSuchElementException unless there is exactly one
     */
    public Plot plot(String name) {
        Objects.requireNonNull(name, "name");
        List<Plot> found =
                plots().stream().filter(plot -> plot.getName().equals(name)).toList();
        if (found.size() != 1) {
            throw new NoSuchElementException(found.size() + " plots are called " + name + "; there are: "
                    + plots().stream().map(Plot::getName).toList());
        }
        return found.get(0);
    }

    /**
     * Returns the model as it was read.
     *
     * @return inputs, outputs and scales
     */
    public ModelDescription model() {
        return message.getModel();
    }

    /**
     * Returns how the numbers were made.
     *
     * @return enough to make them again
     */
    public Receipt receipt() {
        return message.getReceipt();
    }

    /**
     * Returns what to know before trusting the numbers.
     *
     * @return warnings; may be empty
     */
    public List<Warning> warnings() {
        return message.getWarningsList();
    }

    /**
     * Writes the whole answer as the contract's canonical JSON, as REST has it.
     *
     * @return JSON; lists and numbers are present when empty or 0, absent choices are not
     */
    public String toJson() {
        try {
            return JSON.print(message);
        } catch (InvalidProtocolBufferException impossible) {
            throw new IllegalStateException("the contract has nothing that JSON has not", impossible);
        }
    }

    /** Names the results. */
    @Override
    public String toString() {
        return "Explanations"
                + results().stream().map(Explanation::getResultCase).toList();
    }

    @Override
    Explanation only(ResultCase method) {
        List<Explanation> found = results().stream()
                .filter(result -> result.getResultCase() == method)
                .toList();
        if (found.size() != 1) {
            throw new NoSuchElementException(found.size() + " of the "
                    + results().size() + " results are " + method + ": take the one you want from results()");
        }
        return found.get(0);
    }
}
