/** The data inside a chart as tables. */

import { words } from "../common/formats";
import type { Cell, Grid } from "../tables/grid";

type Json = Readonly<Record<string, unknown>>;

/** Tables of all data of a specification, from the whole down to its parts. */
export function rowsOf(title: string, spec: Json): Grid[] {
  const found: Json[][] = [];
  collect(spec, found);
  return found.map((rows, index) =>
    gridOf(found.length > 1 ? `${title}: ${index + 1}` : title, rows),
  );
}

function collect(part: unknown, found: Json[][]): void {
  if (Array.isArray(part)) {
    for (const each of part) collect(each, found);
    return;
  }
  if (!isObject(part)) return;
  const { data, datasets, ...rest } = part;
  if (isObject(data)) add(data["values"], found);
  if (isObject(datasets)) for (const values of Object.values(datasets)) add(values, found);
  for (const name of ["layer", "hconcat", "vconcat", "concat", "spec"]) collect(rest[name], found);
}

function add(values: unknown, found: Json[][]): void {
  if (!Array.isArray(values)) return;
  const rows = values.filter(isObject);
  if (rows.length > 0) found.push(rows);
}

function gridOf(title: string, rows: readonly Json[]): Grid {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) =>
    rows.some((row) => isCell(row[name])),
  );
  return {
    title,
    columns: names.map(words),
    rows: rows.map((row) => names.map((name) => cellOf(row[name]))),
  };
}

function isCell(value: unknown): boolean {
  return typeof value === "number" || typeof value === "string";
}

function cellOf(value: unknown): Cell {
  if (typeof value === "number" || typeof value === "string") return value;
  return typeof value === "boolean" ? String(value) : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
