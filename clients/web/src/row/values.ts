/** The values of one row, and rows as tables. */

import type { v1 } from "onnxplain/rest";
import { isText } from "../common/calls";

/** Numbers or text by the names of their columns; NaN and empty text are missing. */
export type Values = Readonly<Record<string, number | string>>;

/** A column of the table as it is described. */
export type Described = v1.ColumnDescription;

/** Read one of the rows. */
export function valuesOf({ columns }: v1.TableRows, row: number): Values {
  // Without a prototype, since a column may have any name.
  const values: Record<string, number | string> = Object.create(null);
  for (const { name, numbers, strings } of columns) {
    values[name] = numbers[row] ?? strings[row] ?? "";
  }
  return values;
}

/** Write one row as the contract's columns. */
export function toColumns(columns: readonly Described[], row: Values): v1.ColumnsJson {
  return {
    columns: columns.map((column) => {
      const cell = row[column.name];
      if (isText(column)) return { name: column.name, strings: [String(cell ?? "")] };
      return { name: column.name, numbers: [Number.isFinite(cell) ? Number(cell) : "NaN"] };
    }),
  };
}

/** Write rows column by column, as the client takes them. */
export function toTable(
  columns: readonly Described[],
  rows: readonly Values[],
): Record<string, string[] | number[]> {
  const table: Record<string, string[] | number[]> = Object.create(null);
  for (const column of columns) {
    const { name } = column;
    if (isText(column)) table[name] = rows.map((row) => String(row[name] ?? ""));
    else table[name] = rows.map((row) => Number(row[name] ?? Number.NaN));
  }
  return table;
}

/** Values to move a feature over: a grid of numbers, or the frequent values. */
export function gridOf(column: Described, count: number): readonly (number | string)[] {
  const { minimum: low, maximum: high, frequentValues } = column;
  const texts = frequentValues.map(({ value }) => value);
  if (isText(column)) return texts;
  if (low === undefined || high === undefined) return [];
  if (texts.length > 0) return texts.map(Number).sort((one, other) => one - other);
  return Array.from({ length: count }, (_, k) => low + ((high - low) * k) / (count - 1));
}
