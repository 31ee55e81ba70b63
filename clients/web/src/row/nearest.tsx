/** Real rows that are most like the row as it was moved. */

import type { v1 } from "onnxplain/rest";
import { describeTable, predict } from "../common/calls";
import { useLatest } from "../common/latest";
import { Problem } from "../common/problem";
import { question } from "../common/store";
import { cellsOf } from "../start/cells";
import { DataTable } from "../tables/data_table";
import type { Grid } from "../tables/grid";
import { type Described, toColumns, type Values } from "./values";

interface Props {
  readonly values: Values;
  readonly columns: readonly Described[];
}

const COUNT = 10;
const REST_MS = 300;

export function Nearest({ values, columns }: Props) {
  const asked = question.value;
  const ask = async (ending: AbortSignal): Promise<Grid | undefined> => {
    const near = toColumns(columns, values);
    const described = await describeTable(asked, { rowCount: COUNT, near });
    const rows = described.table?.rows;
    if (rows === undefined || ending.aborted) return undefined;
    const { rowIndices } = rows;
    return gridOf(rows, await predict(asked, { rowIndices }, ending));
  };
  const key = JSON.stringify(values);
  const { found: grid, error } = useLatest(ask, REST_MS, [key, asked, columns]);
  return (
    <section>
      <h2>Rows of the table that are most like it</h2>
      <p class="note">
        By Gower's distance over the features: 0 for an equal row, at most 1. Where none is near,
        the model is asked about something that it may never have seen.
      </p>
      {error.value !== undefined && <Problem error={error.value} title="No nearest rows" />}
      {grid.value && <DataTable grid={grid.value} />}
    </section>
  );
}

function gridOf(rows: v1.TableRows, predicted: v1.PredictResponse): Grid {
  const { rowIndices, distances, columns } = rows;
  const { outputNames, values } = predicted;
  return {
    title: "Nearest rows",
    columns: [
      "Row",
      "Distance",
      ...outputNames.map((name) => `Prediction of ${name}`),
      ...columns.map(({ name }) => name),
    ],
    rows: rowIndices.map((row, index) => [
      row,
      distances[index],
      ...outputNames.map((_, k) => values[index * outputNames.length + k]),
      ...columns.map((column) => cellsOf(column)[index]),
    ]),
  };
}
