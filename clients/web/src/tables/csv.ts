/** Tables as CSV. */

import type { Cell } from "./grid";

// A spreadsheet takes a text for a formula by its first sign, which may follow spaces; the wide
// forms of the signs count, too.
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/;

/**
 * Write rows below their titles, with all digits of their numbers. A text that a spreadsheet would
 * run as a formula begins with an apostrophe.
 */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function quoted(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell === "number") return Number.isNaN(cell) ? "" : String(cell);
  const text = isFormula(cell) ? `'${cell}` : cell;
  // Some spreadsheets end cells by semicolons or tabs.
  return /[",;\t\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function isFormula(text: string): boolean {
  return FORMULA.test(text) && !Number.isFinite(Number(text));
}
