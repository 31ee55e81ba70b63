/** The values of one row, and rows as messages. */

import type { v1 } from "onnxplain/rest";

/** Numbers or text by the names of their columns; NaN and empty text are missing. */
export type Values = Readonly<Record<string, number | string>>;

/** A column of the table as it is described. */
export type Described = v1.ColumnDescriptionJson;

/** Read one of the rows. */
export function valuesOf({ columns = [] }: v1.TableRowsJson, row: number): Values {
  // Without a prototype, since a column may have any name.
  const values: Record<string, number | string> = Object.create(null);
  for (const { name = "", numbers = [], strings = [] } of columns) {
    values[name] = numbers.length > 0 ? Number(numbers[row]) : (strings[row] ?? "");
  }
  return values;
}

/** Write rows as the contract's columns. */
export function toColumns(columns: readonly Described[], rows: readonly Values[]): v1.ColumnsJson {
  return {
    columns: columns.map(({ name = "", type }) => {
      const cells = rows.map((row) => row[name]);
      return type === "TEXT"
        ? { name, strings: cells.map((cell) => String(cell ?? "")) }
        : { name, numbers: cells.map(numeric) };
    }),
  };
}

/** Values to move a feature over: a grid of numbers, or the frequent texts. */
export function gridOf(column: Described, count: number): readonly (number | string)[] {
  const { type, minimum, maximum, frequentValues = [] } = column;
  if (type === "TEXT") return frequentValues.map(({ value = "" }) => value);
  if (minimum === undefined || maximum === undefined) return [];
  const [low, high] = [Number(minimum), Number(maximum)];
  if (frequentValues.length > 0) {
    return frequentValues.map(({ value }) => Number(value)).sort((one, other) => one - other);
  }
  return Array.from({ length: count }, (_, k) => low + ((high - low) * k) / (count - 1));
}

function numeric(value: number | string | undefined): number | "NaN" {
  const number = typeof value === "number" ? value : Number.NaN;
  return Number.isFinite(number) ? number : "NaN";
}
