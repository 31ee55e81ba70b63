/** Tables as CSV. */

import type { Cell } from "./data_table";

/** Write rows below their titles, with all digits of their numbers. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function quoted(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell === "number") return Number.isNaN(cell) ? "" : String(cell);
  return /[",\r\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell;
}
