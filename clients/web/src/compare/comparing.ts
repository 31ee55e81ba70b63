/** Comparisons: both sides explained, the first one with what the second is compared with. */

import { signal } from "@preact/signals";
import type { ExplainInput, Explanations, v1 } from "onnxplain/rest";
import { computeSteps, inputOf, run, step } from "../common/runs";
import { place } from "../common/store";
import { keyOf, methodsOf, type Sides, sidesOf } from "./sides";

/** Both answers of a comparison; the second one has it. */
export interface Compared {
  readonly key: string;
  readonly before: Explanations;
  readonly after: Explanations;
}

/** What both explanations take; the first is undefined where its answer is kept. */
export interface Plans {
  readonly before: v1.ExplanationPlan | undefined;
  readonly after: v1.ExplanationPlan;
}

const TITLE = "Comparison";

/** The last comparison that was made. */
export const compared = signal<Compared | undefined>(undefined);

/** The reference that was made last: the next comparison of its question explains the other only. */
const kept = signal<{ readonly key: string; readonly found: Explanations } | undefined>(undefined);

/** The key of what is compared. */
export function keyOfSides({ before, after }: Sides): string {
  return JSON.stringify([keyOf(before), keyOf(after)]);
}

/** The reference of a comparison, where it is there. */
export function keptOf({ before }: Sides): Explanations | undefined {
  return kept.value?.key === keyOf(before) ? kept.value.found : undefined;
}

/** Write what is asked of one side; its answer has what the chance of a difference takes. */
export function inputOfSide(sides: Sides, side: "before" | "after"): ExplainInput {
  return { ...inputOf(sides[side], methodsOf(sides.before)), replicates: true, plots: false };
}

/** Compare, as planned; where the page goes on to other sides, this ends. */
export async function compare(sides: Sides, plans: Plans): Promise<void> {
  const key = keyOfSides(sides);
  const methods = methodsOf(sides.before);
  const going = computeSteps(TITLE, methods, async (ending): Promise<Compared> => {
    const known = keptOf(sides);
    const first = { title: `${TITLE}: before, 1 of 2`, plan: plans.before };
    const before = known ?? (await step(first, inputOfSide(sides, "before"), ending));
    kept.value = { key: keyOf(sides.before), found: before };
    const second = { title: `${TITLE}: after${known ? "" : ", 2 of 2"}`, plan: plans.after };
    const reference = { answer: before.toJson() };
    // Methods and seed are those of the reference.
    const input = { ...inputOf(sides.after, methods), methods: [], reference };
    return { key, before, after: await step(second, input, ending) };
  });
  const cancel = run.peek()?.cancel;
  const unfollow = place.subscribe((now) => {
    const shown = sidesOf(now);
    if (shown === undefined || keyOfSides(shown) !== key) cancel?.();
  });
  const found = await going;
  unfollow();
  if (found !== undefined) compared.value = found;
}
