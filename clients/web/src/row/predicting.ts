/** Predictions that follow what is moved: the latest question only, after a moment of rest. */

import { type Signal, useSignal } from "@preact/signals";
import { v1 } from "onnxplain/rest";
import { useEffect } from "preact/hooks";
import { predict } from "../common/calls";
import { features, question, table } from "../common/store";
import { type Described, toTable, type Values } from "./values";

/** What was predicted last; an error where that failed. */
export interface Predicted {
  readonly found: Signal<v1.PredictResponse | undefined>;
  readonly error: Signal<unknown>;
}

const REST_MS = 60;

/** Predict rows. */
export function usePrediction(columns: readonly Described[], rows: readonly Values[]): Predicted {
  const found = useSignal<v1.PredictResponse | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const asked = question.value;
  const rule = table.value?.table?.matching?.rule;
  const key = JSON.stringify(rows);
  useEffect(() => {
    if (rows.length === 0) {
      found.value = undefined;
      return;
    }
    const ending = new AbortController();
    // By name: the columns of an object have an order of their own.
    const isByPosition = rule === v1.FeatureMatching_Rule.BY_POSITION;
    const order = isByPosition ? { featureColumns: [...features.value] } : {};
    const timer = setTimeout(() => {
      predict(asked, { table: toTable(columns, rows), ...order }, ending.signal).then(
        (answer) => {
          found.value = answer;
          error.value = undefined;
        },
        (fault: unknown) => {
          if (!ending.signal.aborted) error.value = fault;
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [key, asked, columns, rule]);
  return { found, error };
}
