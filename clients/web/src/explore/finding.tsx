/** One explanation: its charts and tables, linked with pages of features and pairs. */

import type { Explanation } from "onnxplain/rest";
import { useMemo } from "preact/hooks";
import { Charts } from "../charts/charts";
import { plotsOf } from "../charts/plots";
import { count, number } from "../common/formats";
import { Names } from "../common/name";
import { go, hrefOf } from "../common/store";
import { DataTable } from "../tables/data_table";
import { pathOf, picked } from "./links";
import { tablesOf } from "./tables";

interface Props {
  readonly explanation: Explanation;

  /** Charts to show; all where it is left out. */
  readonly chartCount?: number;
  readonly tables?: boolean;
}

export function Finding({ explanation, chartCount, tables = true }: Props) {
  const plots = useMemo(() => plotsOf(explanation).slice(0, chartCount), [explanation, chartCount]);
  const grids = tables ? tablesOf(explanation) : [];
  const { rows } = explanation.message;
  return (
    <>
      {rows && (
        <p class="rows">
          Computed on {count(rows.usedRowCount)} rows
          {rows.weight !== rows.usedRowCount && `, of weight ${number(rows.weight)}`}.
        </p>
      )}
      <Charts
        plots={plots}
        onPick={(datum) => {
          const known = tablesOf(explanation).flatMap(({ features }) => features);
          const features = picked(datum, known);
          if (features.length > 0) go({ room: "explore", path: pathOf(features) });
        }}
      />
      {grids.map((grid) => (
        <DataTable
          key={grid.title}
          grid={grid}
          {...(grid.features.some((names) => names.length > 0)
            ? {
                first: (row) => {
                  const features = grid.features[grid.rows.indexOf(row)] ?? [];
                  if (features.length === 0) return row[0];
                  return (
                    <a href={hrefOf({ room: "explore", path: pathOf(features) })}>
                      <Names texts={features} />
                    </a>
                  );
                },
              }
            : {})}
        />
      ))}
    </>
  );
}
