/** Sections of an overview, in the order of reading, as the server's reports have them. */

import type { Explanation, MethodName } from "onnxplain/rest";

/** Explanations that share a section: losses of all rows, mere numbers, share one. */
export type Section = readonly Explanation[];

const FIRST: readonly MethodName[] = ["permutationImportance", "partialDependence", "interactions"];

/** What matters, how, what acts together, then further methods, and losses of all rows last. */
export function sectionsOf(explanations: readonly Explanation[]): Section[] {
  const losses = explanations.filter(isOfAllRows);
  const others = explanations.filter((each) => !isOfAllRows(each));
  others.sort((one, other) => placeOf(one) - placeOf(other));
  const sections = others.map((each): Section => [each]);
  return losses.length > 0 ? [...sections, losses] : sections;
}

/** Whether this is a loss of all rows of one output, whose chart would be a single bar. */
export function isNumber(explanation: Explanation): boolean {
  const { case: method, value } = explanation.message.result;
  return method === "averageLoss" && isOfAllRows(explanation) && value.outputNames.length === 1;
}

function isOfAllRows({ message }: Explanation): boolean {
  const { case: method, value } = message.result;
  return method === "averageLoss" && value.losses.length === 1 && value.losses[0]?.group === "";
}

function placeOf({ method }: Explanation): number {
  const place = FIRST.indexOf(method as MethodName);
  return place < 0 ? FIRST.length : place;
}
