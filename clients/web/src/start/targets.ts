/** Which column may hold the true values, where the server proposes none. */

import type { v1 } from "onnxplain/rest";

/** A column that fits, or none with the reason in words. */
export interface Advice {
  readonly proposed: string;
  readonly words: string;
}

const LOGARITHM = /^(?:log|ln|log2|log10|log1p)[ _.(]+(.+?)\)?$/i;

/** Advise by the columns that are no features, and by the outputs of the model. */
export function adviceOf(
  columns: readonly v1.ColumnDescription[],
  outputs: readonly string[],
  hasClasses: boolean,
): Advice {
  const fitting = columns.filter(
    ({ name, frequentValues }) =>
      outputs.includes(name) || (hasClasses && areClasses(frequentValues, outputs)),
  );
  const [first] = fitting;
  if (first !== undefined && fitting.length === 1) return { proposed: first.name, words: "" };
  if (columns.length === 0) return told("All columns are features: none is left as target.");
  for (const output of outputs) {
    const inner = LOGARITHM.exec(output)?.[1]?.toLowerCase();
    const column = columns.find(({ name }) => name.toLowerCase() === inner);
    if (column !== undefined) {
      return told(
        `No target is proposed: the model seems to predict the logarithm of ${column.name}, and ` +
          "losses compare values of one scale. A column with that logarithm would be a target.",
      );
    }
  }
  return told(
    `No target is proposed: of ${columns.length} columns that are no features, none stands out. ` +
      "Choose the one with the true values, on the scale of the predictions.",
  );
}

function told(words: string): Advice {
  return { proposed: "", words };
}

function areClasses(values: readonly v1.ValueCount[], classes: readonly string[]): boolean {
  return values.length > 1 && values.every(({ value }) => classes.includes(value));
}
