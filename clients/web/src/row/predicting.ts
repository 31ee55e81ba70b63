/** Predictions that follow what is moved: the latest question only, after a moment of rest. */

import { type Signal, useSignal } from "@preact/signals";
import type { v1 } from "onnxplain/rest";
import { useEffect } from "preact/hooks";
import { predict } from "../shared/calls";
import { question } from "../shared/store";
import { type Described, toColumns, type Values } from "./values";

/** What was predicted last; an error where that failed. */
export interface Predicted {
  readonly found: Signal<v1.PredictResponseJson | undefined>;
  readonly error: Signal<unknown>;
}

const REST_MS = 60;

/** Predict rows. */
export function usePrediction(columns: readonly Described[], rows: readonly Values[]): Predicted {
  const found = useSignal<v1.PredictResponseJson | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const asked = question.value;
  const key = JSON.stringify(rows);
  useEffect(() => {
    if (rows.length === 0) {
      found.value = undefined;
      return;
    }
    const ending = new AbortController();
    const timer = setTimeout(() => {
      predict(asked, { table: { columns: toColumns(columns, rows) } }, ending.signal).then(
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
  }, [key, asked, columns]);
  return { found, error };
}
