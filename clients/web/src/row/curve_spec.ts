/** The curve of one row as a chart: data under names of our own, so that no column's name is one. */

import type { v1 } from "onnxplain/rest";
import { isText } from "../common/calls";
import { clipped } from "../common/name";
import type { Described } from "./values";

const INK = "#202124";
const ACCENT = "#0072b2";
const FONT = 'system-ui, "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';

/** Write the specification. */
export function curveSpec(
  column: Described,
  grid: readonly (number | string)[],
  { outputNames, values }: v1.PredictResponse,
  at: number | string | undefined,
): Record<string, unknown> {
  const hasText = isText(column);
  const names = outputNames.map((name) => clipped(name, 40));
  const points = grid.flatMap((x, row) =>
    names.map((output, k) => ({
      x: typeof x === "string" ? clipped(x, 40) : x,
      value: values[row * names.length + k],
      output,
    })),
  );
  const x = {
    field: "x",
    type: hasText ? "nominal" : "quantitative",
    title: clipped(column.name, 60),
    ...(hasText ? { sort: null } : { scale: { zero: false, nice: false } }),
  };
  const y = {
    field: "value",
    type: "quantitative",
    title: names.length === 1 ? `Prediction of ${names[0]}` : "Prediction",
    scale: { zero: false },
  };
  const mark = hasText ? { type: "bar" } : { type: "line", point: grid.length <= 20 };
  const color =
    names.length > 1 ? { field: "output", type: "nominal", title: "Output" } : { value: ACCENT };
  const here = typeof at === "string" ? clipped(at, 40) : at;
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width: 440,
    height: 240,
    background: "#ffffff",
    config: { font: FONT, axis: { labelColor: INK, titleColor: INK, titleFontWeight: "normal" } },
    layer: [
      {
        data: { values: points },
        mark: { ...mark, tooltip: true },
        encoding: { x, y: hasText ? { ...y, scale: { zero: true } } : y, color },
      },
      ...(hasText || here === undefined || Number.isNaN(here)
        ? []
        : [
            {
              data: { values: [{ x: here }] },
              mark: { type: "rule", strokeDash: [4, 3], color: INK },
              encoding: { x },
            },
          ]),
    ],
  };
}
