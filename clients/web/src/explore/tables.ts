/** Results as tables: one row per statistic and output. */

import { type Explanation, v1 } from "onnxplain/rest";
import { count, words } from "../common/formats";
import type { Cell, Grid } from "../tables/grid";

/** A table whose rows know the features that they are about. */
export interface Statistics extends Grid {
  readonly features: readonly (readonly string[])[];

  /** Whether it holds the points of charts, and no statistics. */
  readonly isPoints: boolean;
}

interface Row {
  readonly features: readonly string[];
  readonly cells: readonly Cell[];
}

const POINTS = "Points of the curves";

// So many rows have a chart each; of more, charts show means.
const FEW_ROWS = 6;

// Points of curves are many, and each page of a room asks for them.
const known = new WeakMap<Explanation, Statistics[]>();

/** The tables of a result, the most important first; empty ones are left out. */
export function tablesOf(explanation: Explanation): Statistics[] {
  const found = known.get(explanation) ?? madeOf(explanation);
  known.set(explanation, found);
  return found;
}

function madeOf({ message }: Explanation): Statistics[] {
  const { case: method, value } = message.result;
  const made = (): Statistics[] => {
    switch (method) {
      case "interactions":
        return ofInteractions(value);
      case "partialDependence":
        return [ofCurves(value)];
      case "accumulatedLocalEffects":
        return [ofAccumulated(value)];
      case "permutationImportance":
        return [ofImportance(value)];
      case "averageLoss":
        return [ofLosses(value, lossOf(message))];
      case "featureVectors":
        return [ofVectors(value)];
      case "firm":
        return [ofFirm(value)];
      case "swarm":
        return [ofSwarm(value)];
      case "attributions":
        return [
          value.explainedRowCount > FEW_ROWS ? ofSizes(value, areDrawn(message)) : ofParts(value),
        ];
      case "individualConditionalExpectation":
        return [ofRowCurves(value)];
      default:
        return [];
    }
  };
  return made().filter((table) => table.rows.length > 0);
}

function table(title: string, columns: readonly string[], rows: readonly Row[], note = "") {
  // Columns without a value, like intervals that were not asked for, tell nothing.
  const kept = columns
    .map((_, index) => index)
    .filter((index) => rows.some(({ cells }) => cells[index] !== undefined));
  return {
    title,
    columns: kept.map((index) => columns[index] ?? ""),
    rows: rows.map(({ cells }) => kept.map((index) => cells[index])),
    features: rows.map(({ features }) => features),
    isPoints: title === POINTS,
    ...(note === "" ? {} : { note }),
  };
}

/** A name, in quotation marks where it holds the sign that joins names. */
function quoted(name: string): string {
  return name.includes("×") ? `“${name}”` : name;
}

/** One row per output, whose name is told only where there are several. */
function perOutput(
  names: readonly string[],
  features: readonly string[],
  cells: (index: number) => readonly Cell[],
): Row[] {
  return names.map((name, index) => ({
    features,
    cells: [features.map(quoted).join(" × "), names.length > 1 ? name : undefined, ...cells(index)],
  }));
}

function ofInteractions(result: v1.InteractionsResult): Statistics[] {
  const groups = [
    ["Pairs", result.pairwise],
    ["Each feature with all others", result.overall],
    ["Triples", result.threeway],
    ["Importance", result.importance],
  ] as const;
  const columns = [
    "Features",
    "Output",
    "Size",
    "Share",
    "Standard error",
    "Lower",
    "Upper",
    "p-value",
  ];
  return groups.map(([title, statistics]) => {
    const rows = statistics.flatMap((each) =>
      perOutput(result.outputNames, each.features, (k) => [
        Math.sqrt(Math.max(0, each.numerators[k] ?? Number.NaN)),
        each.values[k],
        each.standardErrors[k],
        each.lower[k],
        each.upper[k],
        each.pValues[k],
      ]),
    );
    const bySize = rows.sort((one, other) => Number(other.cells[2]) - Number(one.cells[2]));
    const note = title === "Importance" ? "" : "Size: √numerator, in the unit of the output.";
    return table(title, columns, bySize, note);
  });
}

function ofImportance(result: v1.PermutationImportanceResult): Statistics {
  const rows = result.importances.flatMap((each) =>
    perOutput(result.outputNames, each.features, (k) => [
      each.values[k],
      each.standardErrors[k],
      each.lower[k],
      each.upper[k],
    ]),
  );
  const columns = [
    "Features",
    "Output",
    "Increase of the loss",
    "Standard error",
    "Lower",
    "Upper",
  ];
  const sorted = rows.sort((one, other) => Number(other.cells[2]) - Number(one.cells[2]));
  return table("Permutation importance", columns, sorted);
}

/** What is averaged, in words. */
function lossOf({ options }: Explanation["message"]): string {
  const { method } = options ?? {};
  if (method?.case !== "averageLoss") return "Loss";
  if (method.value.lossExpression !== "") return method.value.lossExpression;
  return words(v1.AverageLossOptions_Loss[method.value.loss] ?? "loss");
}

function ofLosses(result: v1.AverageLossResult, loss: string): Statistics {
  const rows = result.losses.flatMap(({ group, values, weight }) =>
    values.map((value, k) => ({
      features: [],
      cells: [group || "all rows", outputName(result.outputNames, k), value, weight],
    })),
  );
  return table("Average loss", ["Rows", "Output", loss, "Weight"], rows);
}

function ofCurves(result: v1.PartialDependenceResult): Statistics {
  const width = result.outputNames.length;
  const rows = result.curves.flatMap((curve) => {
    const length = pointCount(curve.grid);
    return Array.from({ length }, (_, point) =>
      perOutput(result.outputNames, curve.features, (k) => [
        curve.group === "" ? undefined : curve.group,
        pointOf(curve.grid, point),
        curve.values[point * width + k],
        curve.lower[point * width + k],
        curve.upper[point * width + k],
        curve.outsideShares[point],
      ]),
    ).flat();
  });
  const columns = [
    "Features",
    "Output",
    "Group",
    "At",
    "Average prediction",
    "Lower",
    "Upper",
    "Share outside the data",
  ];
  return table(POINTS, columns, rows);
}

function ofAccumulated(result: v1.AccumulatedLocalEffectsResult): Statistics {
  const width = result.outputNames.length;
  const rows = result.curves.flatMap((curve) =>
    Array.from({ length: pointCount(curve.grid) }, (_, point) =>
      perOutput(result.outputNames, curve.features, (k) => [
        curve.group === "" ? undefined : curve.group,
        pointOf(curve.grid, point),
        curve.values[point * width + k],
        curve.standardErrors[point * width + k],
        curve.lower[point * width + k],
        curve.upper[point * width + k],
      ]),
    ).flat(),
  );
  const columns = [
    "Features",
    "Output",
    "Group",
    "At",
    "Accumulated effect",
    "Standard error",
    "Lower",
    "Upper",
  ];
  return table(POINTS, columns, rows);
}

function ofRowCurves(result: v1.IndividualConditionalExpectationResult): Statistics {
  const width = result.outputNames.length;
  const rows = result.curves.flatMap((curves) => {
    const features = curves.features.length > 0 ? curves.features : [curves.feature];
    const length = pointCount(curves.grid);
    return curves.rowIndices.flatMap((row, r) =>
      Array.from({ length }, (_, point) =>
        perOutput(result.outputNames, features, (k) => [
          row,
          pointOf(curves.grid, point),
          curves.values[(r * length + point) * width + k],
        ]),
      ).flat(),
    );
  });
  const columns = ["Features", "Output", "Row", "At", "Prediction"];
  return table(POINTS, columns, rows);
}

function ofVectors(result: v1.FeatureVectorsResult): Statistics {
  const rows = result.features.map((feature, index) => ({
    features: [feature],
    cells: [
      feature,
      result.relativeNorms[index],
      result.normStandardErrors[index],
      result.anglesDegrees[index],
      result.angleStandardErrorsDegrees[index],
      result.groups[index],
      result.nearest[index]?.features.join(", "),
    ],
  }));
  const columns = [
    "Feature",
    "Relative length",
    "Standard error",
    "Angle (°)",
    "Standard error of the angle",
    "Group",
    "Nearest",
  ];
  return table("Vectors", columns, rows);
}

function ofFirm(result: v1.FirmResult): Statistics {
  const rows = result.importances.flatMap((each) =>
    perOutput(result.outputNames, [each.feature], (k) => [
      each.values[k],
      each.standardErrors[k],
      each.lower[k],
      each.upper[k],
      words(v1.FirmOptions_Estimator[each.estimator] ?? ""),
    ]),
  );
  const columns = ["Feature", "Output", "Importance", "Standard error", "Lower", "Upper", "By"];
  const size = ({ cells }: Row) => Math.abs(Number(cells[2]));
  return table(
    "Importance",
    columns,
    rows.sort((one, other) => size(other) - size(one)),
  );
}

function ofSwarm(result: v1.SwarmResult): Statistics {
  const rows = result.effects.map((effect) => ({
    features: [effect.feature],
    cells: [
      effect.feature,
      effect.className,
      effect.rowIndex,
      effect.importance,
      effect.bestWeight,
      effect.bestScore,
      effect.agreement,
    ],
  }));
  const columns = [
    "Feature",
    "Class",
    "Row",
    "Importance",
    "Weight where the model breaks most",
    "Score there",
    "Restarts that agree",
  ];
  return table("Effects", columns, rows);
}

/** The rows explained: their numbers in the table, or among those given by their values. */
function rowsOf(result: v1.AttributionsResult): readonly number[] {
  if (result.rowIndices.length > 0) return result.rowIndices;
  return Array.from({ length: result.explainedRowCount }, (_, row) => row);
}

/** Whether the rows explained were drawn, and not named or given: others have no error of a draw. */
function areDrawn({ options }: v1.Explanation): boolean {
  const asked = options?.method;
  return asked?.case === "attributions" && asked.value.explainedRowCount !== undefined;
}

function ofSizes(result: v1.AttributionsResult, drawn: boolean): Statistics {
  const width = result.outputNames.length;
  const rows = result.features.flatMap(({ names }, player) =>
    perOutput(result.outputNames, names, (k) => [
      result.meanAbsoluteValues[player * width + k],
      drawn ? result.meanAbsoluteStandardErrors[player * width + k] : undefined,
    ]),
  );
  const columns = ["Features", "Output", "Mean absolute value", "Standard error"];
  const rowCount = count(result.explainedRowCount);
  const note = `Over ${rowCount} rows, by their weights, in the unit of the output.`;
  const sorted = rows.sort((one, other) => Number(other.cells[2]) - Number(one.cells[2]));
  return table("Mean absolute values", columns, sorted, note);
}

function ofParts(result: v1.AttributionsResult): Statistics {
  const { features, outputNames, featureValues, values, standardErrors } = result;
  const width = outputNames.length;
  const valuesAt = (row: number) =>
    new Map(
      featureValues.map(({ name, numbers, strings }) => [name, numbers[row] ?? strings[row]]),
    );
  const size = ({ cells }: Row) => Math.abs(Number(cells[4]));
  const rows = rowsOf(result).flatMap((index, row) => {
    const own = valuesAt(row);
    const parts = features.flatMap(({ names }, player) =>
      perOutput(outputNames, names, (k) => {
        const at = (row * features.length + player) * width + k;
        const cells = names.map((name) => own.get(name));
        const cell = cells.length === 1 ? cells[0] : cells.join("; ");
        return [index, cell, values[at], standardErrors[at]];
      }),
    );
    return parts.sort((one, other) => size(other) - size(one));
  });
  const columns = ["Features", "Output", "Row", "Its value", "Part", "Standard error"];
  return table("Parts in predictions", columns, rows, "Parts: in the unit of the output.");
}

function outputName(names: readonly string[], index: number): string | undefined {
  return names.length > 1 ? names[index] : undefined;
}

function pointCount(grid: readonly v1.Column[]): number {
  const [first] = grid;
  return first === undefined ? 0 : Math.max(first.numbers.length, first.strings.length);
}

function pointOf(grid: readonly v1.Column[], point: number): Cell {
  const values = grid.map(({ numbers, strings }) => numbers[point] ?? strings[point]);
  return values.length === 1 ? values[0] : values.join(" × ");
}
