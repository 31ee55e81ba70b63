/** Tables as Parquet; loaded when the first one is kept. */

import { parquetWriteBuffer } from "hyparquet-writer";
import type { Cell } from "./grid";

type Rows = readonly (readonly Cell[])[];

/**
 * Write rows below their titles: columns of numbers as doubles, others as texts, and what is
 * missing as null. A title that comes again gets a number, since readers find columns by names.
 */
export function toParquet(columns: readonly string[], rows: Rows): ArrayBuffer {
  const names = distinct(columns);
  return parquetWriteBuffer({
    columnData: names.map((name, index) => columnOf(name, rows, index)),
    createdBy: "onnxplain",
  });
}

function columnOf(name: string, rows: Rows, index: number) {
  const cells = rows.map((row) => presentOf(row[index]));
  const isText = cells.some((cell) => typeof cell === "string");
  return isText
    ? { name, type: "STRING" as const, data: cells.map(textOf) }
    : { name, type: "DOUBLE" as const, data: cells };
}

/** A cell, or null where it is missing. */
function presentOf(cell: Cell): number | string | null {
  return cell === undefined || Number.isNaN(cell) ? null : cell;
}

function textOf(cell: number | string | null): string | null {
  return cell === null ? null : String(cell);
}

function distinct(titles: readonly string[]): string[] {
  const given = new Set(titles);
  const taken = new Set<string>();
  return titles.map((title) => {
    const isFree = (name: string) => !taken.has(name) && (name === title || !given.has(name));
    let name = title;
    for (let count = 2; !isFree(name); count += 1) name = `${title} (${count})`;
    taken.add(name);
    return name;
  });
}
