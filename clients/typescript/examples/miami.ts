/** Prints which two features of Miami's houses act together most. Told: the server, host:port. */

import { connect, type ExplainInput } from "onnxplain";

const FOLDER = new URL("../../../../examples/miami/", import.meta.url);

const client = connect(process.argv[2]);
const input: ExplainInput<URL> = {
  model: new URL("miami.onnx", FOLDER),
  table: new URL("miami_housing.csv.gz", FOLDER),
  featureColumns: [
    "OCEAN_DIST",
    "TOT_LVG_AREA",
    "LND_SQFOOT",
    "structure_quality",
    "age",
    "month_sold",
  ],
  methods: [{ interactions: { pairwiseFeatureCount: 5 } }],
};

const found = await client.explain(input, {
  onProgress: (done, planned) => console.error(`${done} of ${planned} rows are predicted`),
});
client.close();

// Of one output. Their numerators are the squares of the strengths, in the unit of the output.
const strengths = found.result("interactions").pairwise.map(({ features, numerators, values }) => {
  return {
    pair: features.join(" x "),
    strength: Math.sqrt(numerators[0] ?? 0),
    share: values[0] ?? 0,
  };
});
const strongest = strengths.reduce((best, each) => (each.strength > best.strength ? each : best));
const share = `${(100 * strongest.share).toFixed(1)} % of their joint effect`;
console.log(
  `Strongest interaction: ${strongest.pair}, ${strongest.strength.toFixed(4)} (${share})`,
);
