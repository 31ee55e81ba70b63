// Explains the chosen model on the chosen table, and draws which features act together.

import { connect, ExplainError } from "onnxplain/rest";
import vegaEmbed from "vega-embed";

const client = connect();
const find = (selector) => document.querySelector(selector);
let leaving = new AbortController();

async function explain() {
  leaving = new AbortController();
  const { signal } = leaving;
  const input = {
    model: find("#model").files[0],
    table: find("#table").files[0],
    featureColumns: find("#features")
      .value.split(/[\s,]+/)
      .filter(Boolean),
    methods: [{ interactions: { pairwiseFeatureCount: 5 } }],
  };
  for await (const event of client.explainStream(input, { signal })) {
    if (event.type === "progress") find("progress").value = event.done / event.planned;
    else await show(event.explanations);
  }
}

async function show(found) {
  const { pairwise } = found.result("interactions");
  const [strongest] = pairwise.toSorted((a, b) => b.numerators[0] - a.numerators[0]);
  find("output").value = `Strongest interaction: ${strongest.features.join(" x ")}`;
  await vegaEmbed("#plot", found.plot("pairwise").vegaLite, { actions: false });
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  find("output").value = "";
  explain().catch((error) => {
    if (!(error instanceof ExplainError)) throw error;
    find("output").value = `${error.reason} ${error.field}: ${error.message}`;
  });
});
find("#leave").addEventListener("click", () => leaving.abort());
