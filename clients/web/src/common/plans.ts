/** Plans as people read them. */

import type { v1 } from "onnxplain/rest";
import { between, count } from "./formats";

type Cost = Pick<v1.ExplanationPlan, "methods" | "predictedRowCount" | "cachedRowCount"> & {
  readonly seconds?: Pick<v1.SecondsInterval, "low" | "high"> | undefined;
};

/** What a computation takes; `undefined` where the plan tells no time. */
export function costOf({ seconds, ...plan }: Cost, models = "the model"): string | undefined {
  return seconds && `takes ${between(seconds.low, seconds.high)} and ${askedOf(plan, models)}`;
}

/** What two computations take, one after the other. */
export function sumOf(one: Cost, other: Cost): Cost {
  const [first, second] = [one.seconds, other.seconds];
  return {
    seconds: first && second && { low: first.low + second.low, high: first.high + second.high },
    methods: [...one.methods, ...other.methods],
    predictedRowCount: one.predictedRowCount + other.predictedRowCount,
    cachedRowCount: one.cachedRowCount + other.cachedRowCount,
  };
}

function askedOf({ methods, ...plan }: Omit<Cost, "seconds">, models: string): string {
  const { predictedRowCount, cachedRowCount } = plan;
  if (predictedRowCount > 0) {
    const bound = methods.every(({ isExact }) => isExact) ? "" : "at most ";
    return `asks ${models} for ${bound}${count(predictedRowCount)} predictions`;
  }
  if (cachedRowCount > 0) return "finds all predictions in the cache";
  const isOfTrees = methods.some(({ engine }) => engine === "TREES");
  const trees = `${models}${models.endsWith("s") ? "'" : "'s"} trees`;
  return isOfTrees ? `sums over ${trees} in place of predictions` : "needs no predictions";
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
