/** The charts of an answer. */

import type { Explanation, v1 } from "onnxplain/rest";

/** A chart before it is drawn. */
export interface Plot {
  readonly name: string;
  readonly title: string;

  /** What it shows, in words. */
  readonly description: string;

  /** Read its specification in Vega-Lite; drawing may change what it gives. */
  readonly spec: () => Readonly<Record<string, unknown>>;
}

/** The charts of a method. */
export function plotsOf({ message }: Explanation): Plot[] {
  return readLater(message.plots);
}

/** Charts as they came; most are never shown, so each is read when it is drawn. */
export function readLater(plots: readonly v1.Plot[]): Plot[] {
  return plots.map(({ name, title, description, vegaLite }) => {
    return { name, title, description, spec: () => JSON.parse(vegaLite) };
  });
}
