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
  return { repeatable: true, open: () => read(input) };
}

/** Read a file; it is opened when its first part is asked for, so that its errors meet somebody. */
async function* read(path: Path): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: PART_BYTES });
}
