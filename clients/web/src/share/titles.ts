/** What a report is called. */

import { clipped } from "../shared/name";
import type { Question } from "../shared/question";

/** The title for a question. */
export function titleOf({ model }: Question): string {
  const name = model?.name ?? "";
  return `What ${name === "" ? "the model" : clipped(name)} has learned`;
}
