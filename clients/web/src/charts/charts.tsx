/** Charts side by side, the first ones at once. */

import { useSignal } from "@preact/signals";
import { count } from "../common/formats";
import { Chart } from "./chart";
import type { Plot } from "./plots";

interface Props {
  readonly plots: readonly Plot[];

  /** Told what was clicked, as by a single chart. */
  readonly onPick?: (datum: Readonly<Record<string, unknown>>) => void;
}

// A click that shows more than so many charts would be slow.
const PAGE = 24;

export function Charts({ plots, onPick }: Props) {
  const shown = useSignal(PAGE);
  return (
    <>
      <div class="figures">
        {plots.slice(0, shown.value).map((plot) => (
          <Chart key={plot.name} plot={plot} {...(onPick ? { onPick } : {})} />
        ))}
      </div>
      {plots.length > shown.value && (
        <p class="ask">
          <button
            type="button"
            onClick={() => {
              shown.value += 2 * PAGE;
            }}
          >
            Show more of {count(plots.length)} charts
          </button>
        </p>
      )}
    </>
  );
}
