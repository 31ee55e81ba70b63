import io.github.onnxplain.ExplainCall;
import io.github.onnxplain.Explanations;
import io.github.onnxplain.Models;
import io.github.onnxplain.Onnxplain;
import io.github.onnxplain.OnnxplainClient;
import io.github.onnxplain.Tables;
import io.github.onnxplain.v1.InteractionStatistic;
import io.github.onnxplain.v1.InteractionsOptions;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Locale;

/** Explains the model of Miami's house prices, and prints its strongest interaction: {@code ENDPOINT FOLDER}. */
public final class Miami {
    private Miami() {}

    /**
     * Asks the server at an endpoint, with the files of examples/miami.
     *
     * @param arguments endpoint and folder
     */
    public static void main(String[] arguments) {
        Path folder = Path.of(arguments[1]);
        ExplainCall call = ExplainCall.builder()
                .model(Models.file(folder.resolve("miami.onnx")))
                .table(Tables.file(folder.resolve("miami_housing.csv.gz")))
                .featureColumns("OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold")
                .method(InteractionsOptions.newBuilder()
                        .setPairwiseFeatureCount(5)
                        .build())
                .rowCount(1000)
                .plots(false)
                .build();
        try (OnnxplainClient client = Onnxplain.connect(arguments[0]).build()) {
            Explanations found = client.explain(call);
            // The mean square of an interaction can be compared between pairs; its share of their effect cannot.
            InteractionStatistic strongest = found.interactions().getPairwiseList().stream()
                    .max(Comparator.comparingDouble(pair -> pair.getNumerators(0)))
                    .orElseThrow();
            System.out.printf(
                    Locale.ROOT,
                    "%s: %.3f of their joint effect is interaction.%n",
                    String.join(" and ", strongest.getFeaturesList()),
                    strongest.getValues(0));
        }
    }
}
