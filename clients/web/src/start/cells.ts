/** Columns of the contract as cells. */

import type { v1 } from "onnxplain/rest";
import type { Cell } from "../tables/grid";

/** The values of a column; missing ones are undefined. */
export function cellsOf({ numbers, strings }: v1.Column): Cell[] {
  if (numbers.length > 0) {
    return numbers.map((value) => (Number.isNaN(value) ? undefined : value));
  }
  return strings.map((value) => (value === "" ? undefined : value));
}
