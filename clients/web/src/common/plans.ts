/** Plans as people read them. */

import type { v1 } from "onnxplain/rest";
import { between, count } from "./formats";

/** What a computation takes; `undefined` where the plan tells no time. */
export function costOf({ seconds, ...plan }: v1.ExplanationPlan): string | undefined {
  return seconds && `takes ${between(seconds.low, seconds.high)} and ${askedOf(plan)}`;
}

function askedOf({ methods, ...plan }: Omit<v1.ExplanationPlan, "seconds">): string {
  const { predictedRowCount, cachedRowCount } = plan;
  if (predictedRowCount > 0) {
    const bound = methods.every(({ isExact }) => isExact) ? "" : "at most ";
    return `asks the model for ${bound}${count(predictedRowCount)} predictions`;
  }
  if (cachedRowCount > 0) return "finds all predictions in the cache";
  const isOfTrees = methods.some(({ engine }) => engine === "TREES");
  return isOfTrees ? "sums over the model's trees in place of predictions" : "needs no predictions";
}

// As long as a reader who has not asked for an answer may wait for it.
const AT_ONCE_SECONDS = 10;

/** Whether a computation takes so little that nobody has to be asked for it. */
export function isAtOnce({ seconds, predictedRowCount }: v1.ExplanationPlan): boolean {
  return predictedRowCount === 0 && seconds !== undefined && seconds.high <= AT_ONCE_SECONDS;
}

/** The methods with the rows of the table that they use. */
export function methodsOf({ methods }: v1.ExplanationPlan): string {
  return methods
    .map(({ name, rowCount }) => {
      const title = name.replace(/_/g, " ");
      return rowCount > 0 ? `${title} on ${count(rowCount)} rows` : title;
    })
    .join(", ");
}
