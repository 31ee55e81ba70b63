/** What an answer says about a row. */

import { count } from "../common/formats";

/**
 * The sentence of a summary that tells the prediction of the only row explained, and what moves it;
 * empty without one.
 *
 * @param index - The row of the table; undefined for a row given by its values.
 */
export function sentenceOf(summary: readonly string[], index: number | undefined): string {
  const named = index === undefined ? "The given row" : `Row ${count(index)}`;
  return summary.find((sentence) => sentence.startsWith(`${named} has a prediction`)) ?? "";
}
