/** What a report is called. */

import { clipped } from "../common/name";
import type { Question } from "../common/question";

/** The title for a question. */
export function titleOf({ model }: Question): string {
  const name = model?.name ?? "";
  return `What ${name === "" ? "the model" : clipped(name)} has learned`;
}
