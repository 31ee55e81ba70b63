/** Predictions that follow what is moved. */

import { v1 } from "onnxplain/rest";
import { predict } from "../common/calls";
import { type Latest, useLatest } from "../common/latest";
import { features, question, table } from "../common/store";
import { type Described, toTable, type Values } from "./values";

const REST_MS = 60;

/** Predict rows. */
export function usePrediction(
  columns: readonly Described[],
  rows: readonly Values[],
): Latest<v1.PredictResponse> {
  const asked = question.value;
  const rule = table.value?.table?.matching?.rule;
  const ask = (ending: AbortSignal) => {
    // By name: the columns of an object have an order of their own.
    const isByPosition = rule === v1.FeatureMatching_Rule.BY_POSITION;
    const order = isByPosition ? { featureColumns: [...features.value] } : {};
    return predict(asked, { table: toTable(columns, rows), ...order }, ending);
  };
  const key = JSON.stringify(rows);
  return useLatest(rows.length === 0 ? undefined : ask, REST_MS, [key, asked, columns, rule]);
}
