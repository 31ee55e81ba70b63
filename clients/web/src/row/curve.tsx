/** How the prediction of the row changes with one feature, while the rest stays as it is. */

import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart";
import { clipped, Name } from "../common/name";
import { Problem } from "../common/problem";
import { curveSpec } from "./curve_spec";
import { usePrediction } from "./predicting";
import { type Described, gridOf, type Values } from "./values";

interface Props {
  readonly values: Values;
  readonly columns: readonly Described[];
  readonly column: Described | undefined;
}

const POINTS = 41;

export function Curve({ values, columns, column }: Props) {
  const name = column?.name ?? "";
  const others = JSON.stringify({ ...values, [name]: null });
  const grid = useMemo(() => (column === undefined ? [] : gridOf(column, POINTS)), [column]);
  // Moving the feature itself moves the mark along the curve only.
  const rows = useMemo(() => grid.map((value) => ({ ...values, [name]: value })), [grid, others]);
  const { found, error } = usePrediction(columns, rows);
  const plot = useMemo(() => {
    const answer = found.value;
    if (column === undefined || answer === undefined) return undefined;
    if (answer.rowIndices?.length !== grid.length) return undefined;
    const spec = curveSpec(column, grid, answer, values[name]);
    return {
      name: "curve-of-the-row",
      title: `Prediction of this row over ${clipped(name, 40)}`,
      description: "The prediction of the row for each value of the feature.",
      spec: () => spec,
    };
  }, [found.value, column, grid, values[name]]);
  return (
    <section class="card">
      <h2>
        Its curve over <Name text={name} length={40} />
      </h2>
      {error.value !== undefined && <Problem error={error.value} title="No curve" />}
      {plot && <Chart plot={plot} />}
    </section>
  );
}
