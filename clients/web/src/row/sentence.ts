/** What an answer says about a row. */

import { count } from "../common/formats";

/** The sentence of a summary that tells the row's prediction and what moves it; empty without one. */
export function sentenceOf(summary: readonly string[], index: number): string {
  const start = `Row ${count(index)} has a prediction`;
  return summary.find((sentence) => sentence.startsWith(start)) ?? "";
}
