/** Tables of many kinds -> files; what is no file goes as Arrow IPC. */

import {
  bool,
  columnFromArray,
  float64,
  int64,
  tableFromColumns,
  tableToIPC,
  utf8,
} from "@uwdata/flechette";
import { peek, read, type Source } from "./sources.js";

/** One cell of a row; null, undefined and NaN are missing values. */
export type Cell = number | string | boolean | bigint | null | undefined;

/** A table row by row: the columns are those of the first row, which all rows must have. */
export type Rows = readonly Readonly<Record<string, Cell>>[];

/** A table column by column. */
export type Columns = Readonly<Record<string, readonly Cell[] | NumberArray>>;

/** Numbers in memory. */
export type NumberArray =
  | Float64Array
  | Float32Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint32Array
  | Uint16Array
  | Uint8Array;

/** Formats of files, by the names of the contract. */
export type Format = "arrow" | "parquet" | "csv";

/** A file with its format. */
export interface TableFile {
  readonly format: Format;
  readonly content: AsyncIterable<Uint8Array>;
}

const GZIP = [0x1f, 0x8b];
const FORMATS: readonly [Format, readonly number[]][] = [
  ["arrow", [...new TextEncoder().encode("ARROW1")]],
  ["arrow", [0xff, 0xff, 0xff, 0xff]],
  ["parquet", [...new TextEncoder().encode("PAR1")]],
];
const HEAD_BYTES = 6;

/**
 * Open a table's file: Arrow IPC or Parquet where it begins like one, else CSV.
 *
 * One packed by gzip, like "rows.csv.gz", is unpacked first: it is the caller's own, and the
 * server would have to be wary of what it becomes.
 */
export async function opened(source: Source): Promise<TableFile> {
  const { head, all } = await peek(source.open(), HEAD_BYTES);
  if (!begins(head, GZIP)) return { format: formatOf(head), content: all };
  const unpacked = await peek(unpack(all), HEAD_BYTES);
  return { format: formatOf(unpacked.head), content: unpacked.all };
}

/**
 * Write rows as a file in Arrow's IPC format.
 *
 * @throws TypeError where the values of a column are neither all numbers nor all text
 */
export function fromRows(rows: Rows): Uint8Array {
  const names = Object.keys(rows[0] ?? {});
  for (const [index, row] of rows.entries()) {
    const missing = names.find((name) => !(name in row));
    const other = Object.keys(row).find((name) => !names.includes(name));
    const wrong = missing ?? other;
    if (wrong !== undefined) {
      throw new TypeError(`row ${index} and row 0 differ in column "${wrong}": all need the same`);
    }
  }
  return fromColumns(Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])));
}

/** Write columns likewise. */
export function fromColumns(columns: Columns): Uint8Array {
  const written = Object.entries(columns).map(
    ([name, values]) => [name, columnOf(name, values)] as [string, ReturnType<typeof columnOf>],
  );
  const lengths = new Set(written.map(([, column]) => column.length));
  if (lengths.size > 1) {
    throw new TypeError(`columns differ in length: ${[...lengths].join(", ")}`);
  }
  return tableToIPC(tableFromColumns(written), { format: "stream" }) as Uint8Array;
}

function columnOf(name: string, values: readonly Cell[] | NumberArray) {
  if (ArrayBuffer.isView(values)) return columnFromArray(Array.from(values), float64());
  const cells = Array.from(values, (cell) => cell ?? null);
  const kinds = new Set(cells.filter((cell) => cell !== null).map((cell) => typeof cell));
  const kind = kinds.size === 0 ? "number" : [...kinds][0];
  if (kinds.size > 1) {
    throw new TypeError(`column "${name}" mixes ${[...kinds].join(" and ")}: use one of them`);
  }
  switch (kind) {
    case "number":
      return columnFromArray(cells, float64());
    case "string":
      return columnFromArray(cells, utf8());
    case "boolean":
      return columnFromArray(cells, bool());
    case "bigint":
      return columnFromArray(cells, int64());
    default:
      throw new TypeError(`column "${name}" has values that are neither numbers nor text`);
  }
}

/** Unpack gzip. */
async function* unpack(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  const written = fill(writable, parts);
  try {
    yield* read(readable);
  } catch (error) {
    throw new TypeError("the table begins like a gzip file, but is broken", { cause: error });
  } finally {
    // A fault of what is read shows on the readable side, too.
    await written.catch(() => undefined);
  }
}

async function fill(
  writable: WritableStream<BufferSource>,
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const writer = writable.getWriter();
  try {
    for await (const part of parts) await writer.write(part as Uint8Array<ArrayBuffer>);
    await writer.close();
  } catch (error) {
    await writer.abort(error);
  }
}

function formatOf(head: Uint8Array): Format {
  return FORMATS.find(([, mark]) => begins(head, mark))?.[0] ?? "csv";
}

function begins(head: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, index) => head[index] === byte);
}
