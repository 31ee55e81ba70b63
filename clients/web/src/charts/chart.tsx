/** A chart with its table, and its picture as a file. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Name } from "../common/name";
import { save } from "../common/saving";
import { DataTable } from "../tables/data_table";
import { drawInTurn } from "./drawing_queue";
import { rowsOf } from "./plot_rows";
import type { Plot } from "./plots";
import type { Drawn } from "./vega";

interface Props {
  readonly plot: Plot;

  /** Told what was clicked: the data of a bar, a point or a cell. */
  readonly onPick?: (datum: Readonly<Record<string, unknown>>) => void;
}

export function Chart({ plot, onPick }: Props) {
  const figure = useRef<HTMLElement>(null);
  const drawn = useRef<Drawn | undefined>(undefined);
  const fault = useSignal("");
  const isTable = useSignal(false);
  useEffect(() => {
    let isGone = false;
    const { current } = figure;
    if (current === null) return;
    const target = document.createElement("div");
    target.className = "plot";
    current.replaceChildren(target);
    const drawNow = async () => {
      try {
        const { draw } = await import("./vega");
        if (isGone) return;
        const result = await draw(current, plot.spec(), (shown) => {
          drawn.current = shown;
          shown.view.addEventListener("click", (_, item) => {
            if (item?.datum) onPick?.(item.datum);
          });
        });
        if (isGone) result.finalize();
      } catch (error) {
        fault.value = error instanceof Error ? error.message : String(error);
      }
    };
    const takeBack = drawInTurn(current, drawNow);
    return () => {
      isGone = true;
      takeBack();
      drawn.current?.finalize();
    };
  }, [plot]);
  const keep = async (type: "svg" | "png") => {
    if (drawn.current === undefined) return;
    const { view } = drawn.current;
    if (type === "svg") return save(`${plot.name}.svg`, "image/svg+xml", await view.toSVG());
    const picture = await view.toCanvas(2);
    (picture as HTMLCanvasElement).toBlob((blob) => {
      if (blob !== null) save(`${plot.name}.png`, "image/png", blob);
    });
  };
  return (
    <div class="chart">
      <figure ref={figure} aria-label={plot.title} />
      <p class="hidden">{plot.description}</p>
      {fault.value !== "" && (
        <p class="problem" role="alert">
          This chart cannot be drawn: {fault.value}
        </p>
      )}
      <div class="tools">
        <button
          type="button"
          class="quiet"
          aria-expanded={isTable.value}
          onClick={() => {
            isTable.value = !isTable.value;
          }}
        >
          Table<span class="hidden"> of {plot.title}</span>
        </button>
        <button type="button" class="quiet" onClick={() => keep("svg")}>
          SVG<span class="hidden"> of {plot.title}</span>
        </button>
        <button type="button" class="quiet" onClick={() => keep("png")}>
          PNG<span class="hidden"> of {plot.title}</span>
        </button>
      </div>
      {isTable.value && <Data plot={plot} />}
    </div>
  );
}

function Data({ plot }: { plot: Plot }) {
  const grids = useMemo(() => rowsOf(plot.title, plot.spec()), [plot]);
  if (grids.length === 0) {
    return (
      <p class="note">
        <Name text={plot.description} length={2_000} />
      </p>
    );
  }
  return grids.map((grid) => <DataTable key={grid.title} grid={grid} />);
}
