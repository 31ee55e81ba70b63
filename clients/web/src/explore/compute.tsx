/** A question that is not answered yet: what it would take, and its start. */

import { useSignal, useSignalEffect } from "@preact/signals";
import type { v1 } from "onnxplain/rest";
import type { ComponentChildren } from "preact";
import { costOf, isAtOnce } from "../common/plans";
import { Problem } from "../common/problem";
import { compute, inputOf, type Methods, run } from "../common/runs";
import { client } from "../common/server";
import { question } from "../common/store";

interface Props {
  readonly title: string;
  readonly methods: Methods;
  readonly isAgain?: boolean;

  /** What takes the place of the question where its answer takes little. */
  readonly atOnce?: ComponentChildren;
}

export function Compute({ title, methods, isAgain = false, atOnce }: Props) {
  const plan = useSignal<v1.ExplanationPlan | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useSignalEffect(() => {
    const asked = question.value;
    const ending = new AbortController();
    plan.value = undefined;
    error.value = undefined;
    client.plan(inputOf(asked, methods), { signal: ending.signal }).then(
      (found) => {
        plan.value = found;
      },
      (fault: unknown) => {
        if (!ending.signal.aborted) error.value = fault;
      },
    );
    return () => ending.abort();
  });
  const cost = plan.value && costOf(plan.value);
  const isRunning = run.value !== undefined && run.value.error === undefined;
  if (error.value !== undefined) {
    return <Problem error={error.value} title="This question would be refused" />;
  }
  if (atOnce !== undefined && plan.value && isAtOnce(plan.value)) return atOnce;
  return (
    <p class="ask" aria-live="polite">
      <button
        type="button"
        class={isAgain ? "" : "strong"}
        disabled={isRunning}
        onClick={() => void compute(title, methods, plan.value)}
      >
        {isAgain ? "Compute it on the method's own number of rows" : "Compute"}
      </button>{" "}
      <span class="note">{cost === undefined ? "Planning…" : `It ${cost}.`}</span>
    </p>
  );
}
