/** Answers that follow what is moved: the latest question only, after a moment of rest. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** What was answered last; an error where that failed. */
export interface Latest<T> {
  readonly found: Signal<T | undefined>;
  readonly error: Signal<unknown>;
}

/**
 * Ask again whenever what the question depends on changes.
 *
 * @param ask - Undefined where there is nothing to ask.
 */
export function useLatest<T>(
  ask: ((ending: AbortSignal) => Promise<T>) | undefined,
  restMs: number,
  dependencies: readonly unknown[],
): Latest<T> {
  const found = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    if (ask === undefined) {
      found.value = undefined;
      return;
    }
    const ending = new AbortController();
    const timer = setTimeout(() => {
      ask(ending.signal).then(
        (answer) => {
          if (ending.signal.aborted) return;
          found.value = answer;
          error.value = undefined;
        },
        (fault: unknown) => {
          if (!ending.signal.aborted) error.value = fault;
        },
      );
    }, restMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [...dependencies, ask === undefined]);
  return { found, error };
}
