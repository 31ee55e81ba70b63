/** Rows of a table as it is shown and kept. */

/** A cell: a number, or text. */
export type Cell = number | string | undefined;

/** Rows with titles for their columns. */
export interface Grid {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];

  /** What the numbers are, in a sentence. */
  readonly note?: string;
}
