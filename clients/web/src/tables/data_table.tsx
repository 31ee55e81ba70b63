/** A table that sorts, searches, and can be kept as a file. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { number } from "../common/formats";
import { LongName } from "../common/name";
import { Problem } from "../common/problem";
import { save } from "../common/saving";
import { toCsv } from "./csv";
import type { Cell, Grid } from "./grid";

interface Props {
  readonly grid: Grid;

  /** Draws the first cell of a row, as a link; else it is text. */
  readonly first?: (row: readonly Cell[]) => ComponentChildren;
}

const SEARCHED = 12;
const PAGE = 25;
const PARQUET = "application/vnd.apache.parquet";

export function DataTable({ grid, first }: Props) {
  const sought = useSignal("");
  const order = useSignal<{ column: number; isDown: boolean } | undefined>(undefined);
  const shown = useSignal(PAGE);
  const fault = useSignal<unknown>(undefined);
  const found = useMemo(
    () => sorted(matching(grid.rows, sought.value), order.value),
    [grid, sought.value, order.value],
  );
  const numeric = useMemo(() => grid.columns.map((_, column) => isNumeric(grid, column)), [grid]);
  const sort = (column: number) => {
    const { value } = order;
    order.value = { column, isDown: value?.column === column ? !value.isDown : column > 0 };
  };
  const keepParquet = async () => {
    try {
      const { toParquet } = await import("./parquet");
      save(`${grid.title}.parquet`, PARQUET, toParquet(grid.columns, found));
      fault.value = undefined;
    } catch (error) {
      fault.value = error;
    }
  };
  return (
    <div class="table">
      <div class="tools">
        {grid.rows.length > SEARCHED && (
          <label>
            Search{" "}
            <input
              type="search"
              value={sought.value}
              onInput={(event) => {
                sought.value = event.currentTarget.value;
                shown.value = PAGE;
              }}
            />
          </label>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() => save(`${grid.title}.csv`, "text/csv", toCsv(grid.columns, found))}
        >
          CSV<span class="hidden"> of {grid.title}</span>
        </button>
        <button type="button" class="quiet" onClick={() => void keepParquet()}>
          Parquet<span class="hidden"> of {grid.title}</span>
        </button>
      </div>
      {fault.value !== undefined && <Problem error={fault.value} title="No file was made" />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <section class="scroll" tabIndex={0} aria-label={grid.title}>
        <table>
          <caption>
            <b>{grid.title}</b> {grid.note && <span class="note">{grid.note}</span>}
          </caption>
          <thead>
            <tr>
              {grid.columns.map((title, column) => (
                <th
                  key={title}
                  scope="col"
                  class={numeric[column] ? "number" : ""}
                  aria-sort={sortOf(order.value, column)}
                >
                  <button type="button" class="sort" onClick={() => sort(column)}>
                    {title}
                    <span aria-hidden="true">{arrowOf(order.value, column)}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, shown.value).map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <td key={column} class={numeric[column] ? "number" : ""}>
                    {column === 0 && first ? first(row) : <Shown cell={cell} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="note" aria-live="polite">
        {sought.value !== "" && `${found.length} of ${grid.rows.length} rows match. `}
        {found.length > shown.value && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              shown.value += 4 * PAGE;
            }}
          >
            Show more of {found.length} rows
          </button>
        )}
      </p>
    </div>
  );
}

function Shown({ cell }: { cell: Cell }) {
  if (typeof cell === "string") return <LongName text={cell} />;
  return <>{number(cell)}</>;
}

function isNumeric({ rows }: Grid, column: number): boolean {
  return rows.some((row) => typeof row[column] === "number");
}

function matching(rows: Grid["rows"], sought: string): Grid["rows"] {
  const text = sought.trim().toLowerCase();
  if (text === "") return rows;
  return rows.filter((row) =>
    row.some((cell) => typeof cell === "string" && cell.toLowerCase().includes(text)),
  );
}

function sorted(
  rows: Grid["rows"],
  order: { column: number; isDown: boolean } | undefined,
): Grid["rows"] {
  if (order === undefined) return rows;
  const { column, isDown } = order;
  return [...rows].sort((one, other) => compare(one[column], other[column], isDown));
}

/** Missing values are last, whichever way. */
function compare(one: Cell, other: Cell, isDown: boolean): number {
  const isMissing = (cell: Cell) => cell === undefined || Number.isNaN(cell);
  if (isMissing(one) || isMissing(other)) return Number(isMissing(one)) - Number(isMissing(other));
  const way = isDown ? -1 : 1;
  if (typeof one === "number" && typeof other === "number") return way * (one - other);
  return way * String(one).localeCompare(String(other), undefined, { numeric: true });
}

type Sort = "ascending" | "descending" | "none";

function sortOf(order: { column: number; isDown: boolean } | undefined, column: number): Sort {
  if (order?.column !== column) return "none";
  return order.isDown ? "descending" : "ascending";
}

function arrowOf(order: { column: number; isDown: boolean } | undefined, column: number): string {
  return { ascending: " ↑", descending: " ↓", none: "" }[sortOf(order, column)];
}
