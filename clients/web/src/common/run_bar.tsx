/** A computation on its way: how far it is, what is finished, and its end. */

import { useEffect, useState } from "preact/hooks";
import { about } from "../explore/methods";
import { waiting } from "./asking";
import { between, count, percent, seconds } from "./formats";
import { Problem } from "./problem";
import { type Run, run } from "./runs";

export function RunBar() {
  const current = run.value;
  if (current === undefined) return <p class="hidden" aria-live="polite" />;
  if (current.error !== undefined) {
    return (
      <section class="run" aria-label="Computation">
        <Problem error={current.error} title={`${current.title}: refused or failed`} />
        <button
          type="button"
          class="quiet"
          onClick={() => {
            run.value = undefined;
          }}
        >
          Close
        </button>
      </section>
    );
  }
  return <Going current={current} />;
}

function Going({ current }: { current: Run }) {
  const now = useNow();
  const { done, planned, parts, title, startTime, cancel } = current;
  const share = planned > 0 ? Math.min(1, done / planned) : 0;
  const finished = parts
    .map((part) => about(part?.method)?.title)
    .filter((each) => each !== undefined);
  // Announced in tenths: every row would be noise.
  const told = `${title}: ${percent(Math.floor(10 * share) / 10)} done`;
  return (
    <section class="run" aria-label="Computation">
      <div class="run-line">
        <b>{title}</b>
        {planned > 0 ? (
          <progress max={1} value={share} aria-label={title} />
        ) : (
          <progress aria-label={title} />
        )}
        <span>
          {[...stateOf(current), seconds((now - startTime) / 1_000), ...timeOf(current)].join(
            " · ",
          )}
        </span>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
      <p class="hidden" aria-live="polite">
        {told}
      </p>
      {finished.length > 0 && <p class="note">So far: {finished.join(", ")}</p>}
    </section>
  );
}

/** What it does, and the rows that it does it for. */
function stateOf({ done, planned, plan, isWaiting }: Run): string[] {
  if (waiting.value.length > 0) return ["Waiting for a token"];
  if (planned > 0) return [`${count(done)} of at most ${count(planned)} rows predicted`];
  const rowCount = plan?.predictedRowCount ?? 0;
  const state = isWaiting ? "Waiting for its turn" : "Preparing";
  return rowCount > 0 ? [state, `${count(rowCount)} rows to predict`] : [state];
}

function timeOf({ plan }: Run): string[] {
  return plan?.seconds ? [`planned: ${between(plan.seconds.low, plan.seconds.high)}`] : [];
}

function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
