/** The sides of a comparison: the question of the page, and the same one about other content. */

import type { Content, Other, Place, Question } from "../common/question";
import type { Methods } from "../common/runs";

/** Both questions; the first one is the reference. */
export interface Sides {
  readonly before: Question;
  readonly after: Question;
  readonly hasOtherModel: boolean;
  readonly hasOtherTable: boolean;
}

/** What is compared; undefined where the other content is that of the page, or there is none. */
export function sidesOf({ question: before, other }: Pick<Place, "question" | "other">) {
  const [model, table] = [otherOf(before, other, "model"), otherOf(before, other, "table")];
  if (before.model === undefined || before.table === undefined) return undefined;
  if (model === undefined && table === undefined) return undefined;
  const after = { ...before, ...(model ? { model } : {}), ...(table ? { table } : {}) };
  const sides: Sides = {
    before,
    after,
    hasOtherModel: model !== undefined,
    hasOtherTable: table !== undefined,
  };
  return sides;
}

function otherOf(before: Question, other: Other, kind: keyof Other): Content | undefined {
  const content = other[kind];
  return content?.value === before[kind]?.value ? undefined : content;
}

/** Interactions, and where a target tells the truth the average loss. */
export function methodsOf({ target }: Question): Methods {
  return target === "" ? [{ interactions: {} }] : [{ interactions: {} }, { averageLoss: {} }];
}

/** All that an answer to a question depends on. */
export function keyOf({ model, table, target, weight, features, output }: Question): string {
  const names = [model?.name, target, weight, output];
  return JSON.stringify([model?.value, table?.value, names, features]);
}

/** What people call a content. */
export function nameOf(content: Content | undefined): string {
  return content === undefined || content.name === "" ? (content?.value ?? "") : content.name;
}
