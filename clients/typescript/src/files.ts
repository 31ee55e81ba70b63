/** Files by their paths, in Node. */

import { createReadStream } from "node:fs";
import type { Source } from "./sources.js";

/** The path of a file. */
export type Path = string | URL;

const PART_BYTES = 2 ** 20;

/** Open a file by its path. */
export function openPath(input: unknown): Source {
  if (typeof input !== "string" && !(input instanceof URL)) {
    throw new TypeError(
      `cannot read a file from ${input === null ? "null" : typeof input}: give a path, bytes, a ` +
        "Blob, an async iterable of bytes, or for a table rows or columns",
    );
  }
  const open = () => createReadStream(input, { highWaterMark: PART_BYTES });
  return { repeatable: true, open };
}
