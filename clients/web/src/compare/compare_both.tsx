/** What a comparison would take, and its start. */

import { useSignal, useSignalEffect } from "@preact/signals";
import { costOf, methodsOf, sumOf } from "../common/plans";
import { Problem } from "../common/problem";
import { run } from "../common/runs";
import { client } from "../common/server";
import { compare, inputOfSide, keptOf, type Plans } from "./comparing";
import type { Sides } from "./sides";

interface Props {
  readonly sides: Sides;
  readonly isAgain: boolean;
}

export function CompareBoth({ sides, isAgain }: Props) {
  const plans = useSignal<Plans | undefined>(undefined);
  const error = useSignal<{ readonly title: string; readonly fault: unknown } | undefined>(
    undefined,
  );
  useSignalEffect(() => {
    const isKept = keptOf(sides) !== undefined;
    const ending = new AbortController();
    const planned = async (side: "before" | "after") => {
      try {
        return await client.plan(inputOfSide(sides, side), { signal: ending.signal });
      } catch (fault) {
        const title = `The explanation ${side} would be refused`;
        if (!ending.signal.aborted) error.value = { title, fault };
        throw fault;
      }
    };
    const both = async () => {
      const before = isKept ? undefined : await planned("before");
      plans.value = { before, after: await planned("after") };
    };
    plans.value = undefined;
    error.value = undefined;
    both().catch(() => undefined);
    return () => ending.abort();
  });
  const isRunning = run.value !== undefined && run.value.error === undefined;
  if (error.value !== undefined) {
    return <Problem error={error.value.fault} title={error.value.title} />;
  }
  const found = plans.value;
  return (
    <p class="ask" aria-live="polite">
      <button
        type="button"
        class={isAgain ? "" : "strong"}
        disabled={isRunning || found === undefined}
        onClick={() => found && void compare(sides, found)}
      >
        {isAgain ? "Compare again" : "Compare"}
      </button>{" "}
      <span class="note">{found === undefined ? "Planning…" : toldOf(found, sides)}</span>
    </p>
  );
}

/** Which explanations it makes, and what these take. */
function toldOf({ before, after }: Plans, { hasOtherModel }: Sides): string {
  const own = methodsOf(after);
  if (before === undefined) {
    const cost = costOf(after);
    return `What was found before is kept: it explains the other side only${cost ? `, which ${cost}` : ""}, by ${own}.`;
  }
  const cost = costOf(sumOf(before, after), hasOtherModel ? "the models" : "the model");
  const first = methodsOf(before);
  const methods = first === own ? `each by ${own}` : `before by ${first}, after by ${own}`;
  return `It explains both sides${cost ? `, which ${cost}` : ""}: ${methods}.`;
}
