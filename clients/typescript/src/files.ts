/** Files by their paths, in Node. */

import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, sep, win32 } from "node:path";
import { fileURLToPath } from "node:url";
import { ExplainError } from "./errors.js";
import type { NamedFile } from "./external_data.js";
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
  return { repeatable: true, open: () => read(input), beside: (names) => beside(input, names) };
}

/** Read a file; it is opened when its first part is asked for, so that its errors meet somebody. */
async function* read(path: Path): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path, { highWaterMark: PART_BYTES });
}

/** Open the files that a model names, in its folder or below. */
function beside(model: Path, names: readonly string[]): Promise<NamedFile[]> {
  const folder = dirname(model instanceof URL ? fileURLToPath(model) : model);
  // The server refuses what leads elsewhere.
  const local = names.filter(
    (name) =>
      !posix.isAbsolute(name) && !win32.isAbsolute(name) && !name.split(/[\\/]/).includes(".."),
  );
  return Promise.all(
    local.map(async (name) => ({ name, content: read(await checked(folder, name)) })),
  );
}

/** The path of a file that links do not lead out of its folder. */
async function checked(folder: string, name: string): Promise<string> {
  try {
    const [root, path] = await Promise.all([realpath(folder), realpath(join(folder, name))]);
    if (!isAbsolute(path) || !path.startsWith(root.endsWith(sep) ? root : root + sep)) {
      throw new Error("it leads out of the folder");
    }
    if (!(await stat(path)).isFile()) throw new Error("it is no file");
    return path;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ExplainError(
      `the model has values in the file "${name}", which cannot be read in ${folder}: ${why}`,
      {
        reason: "EXTERNAL_DATA",
        code: "INVALID_ARGUMENT",
        field: "model.files",
        cause: error,
      },
    );
  }
}
