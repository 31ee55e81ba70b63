/** Models in several files: the names of those beside a model, and a model with its files as sent. */

import type { ModelFile } from "./gen/onnxplain/v1/model_pb.js";
import { type Bytes, collect, type Opener, type Source, sourceOf } from "./sources.js";

/** A file beside a model, by the name that the model has; the model itself has none. */
export interface NamedFile {
  readonly name: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * A model with the files that it names for values of its tensors (external data), where no path
 * tells where they are.
 *
 * @example
 * ```ts
 * const [model, values] = document.querySelector("#model").files;
 * await client.describe(new ModelFiles(model, { "model.onnx.data": values }));
 * ```
 */
export class ModelFiles {
  /**
   * @param model the ONNX file
   * @param files the others, by the names that the model has: paths below its folder
   */
  constructor(
    readonly model: Bytes,
    readonly files: Readonly<Record<string, Bytes>>,
  ) {}
}

/** Open a model with its files. */
export function openModel(input: unknown, opener: Opener): Source {
  if (!(input instanceof ModelFiles)) return sourceOf(input, opener);
  const model = sourceOf(input.model, opener);
  const files = Object.entries(input.files).map(
    ([name, bytes]) => [name, sourceOf(bytes, opener)] as const,
  );
  return {
    repeatable: model.repeatable && files.every(([, file]) => file.repeatable),
    open: () => model.open(),
    beside: async (names) =>
      files.map(([name, file]) => ({ name: nameIn(names, name), content: file.open() })),
  };
}

/** The name that a model has for a file, of which pages know the last part alone. */
function nameIn(names: readonly string[], file: string): string {
  const alike = names.filter((name) => name.split("/").at(-1) === file);
  return names.includes(file) || alike.length !== 1 ? file : (alike[0] ?? file);
}

/** Read the files beside a model that is read. */
export async function readBeside(
  source: Source,
  content: Uint8Array,
): Promise<{ name: string; content: Uint8Array }[]> {
  const names = new Names();
  names.add(content);
  const files = (await source.beside?.(names.found)) ?? [];
  return Promise.all(
    files.map(async (file) => ({ name: file.name, content: await collect(file.content) })),
  );
}

/** The files of a model in the order in which they are sent: itself, then those that it names. */
export async function* filesOf(source: Source): AsyncGenerator<NamedFile> {
  if (source.beside === undefined) {
    yield { name: "", content: source.open() };
    return;
  }
  const names = new Names();
  yield { name: "", content: names.within(source.open()) };
  yield* await source.beside(names.found);
}

/** A model that a message has inside, to be sent in another way. */
export function sourceInside(content: Uint8Array, files: readonly ModelFile[]): Source {
  const source: Source = { repeatable: true, open: () => once(content) };
  if (files.length === 0) return source;
  const beside = async () => files.map(({ name, content }) => ({ name, content: once(content) }));
  return { ...source, beside };
}

// How an ONNX file begins to name another one, for values of a tensor: the entry "location" of
// its field external_data. The length of the name follows, then the name.
const LOCATION = new TextEncoder().encode("\n\x08location\x12");
const MOST_NAME_BYTES = 4_096;

/** Names of the files with values of a model, found while it is read. */
class Names {
  private readonly names = new Set<string>();
  private end: Uint8Array = new Uint8Array();

  /** In the order in which the model has them. */
  get found(): readonly string[] {
    return [...this.names];
  }

  /** Pass the model on, and look at it. */
  async *within(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of parts) {
      this.add(part);
      yield part;
    }
  }

  /** Look at the next part of the model. */
  add(part: Uint8Array): void {
    const seen = new Uint8Array(this.end.length + part.length);
    seen.set(this.end);
    seen.set(part, this.end.length);
    for (let at = seen.indexOf(0x0a); at >= 0; at = seen.indexOf(0x0a, at + 1)) {
      if (LOCATION.every((byte, index) => seen[at + index] === byte)) {
        const name = nameAt(seen, at + LOCATION.length);
        if (name !== undefined) this.names.add(name);
      }
    }
    // A name that is cut off is found again, with the next part.
    this.end = seen.slice(-(MOST_NAME_BYTES + LOCATION.length + 2));
  }
}

/** Read a name after its length; undefined where it is cut off, or too long for a file's. */
function nameAt(content: Uint8Array, at: number): string | undefined {
  const low = content[at];
  if (low === undefined) return undefined;
  const high = low < 0x80 ? 0 : content[at + 1];
  if (high === undefined || high >= 0x80) return undefined;
  const start = at + (low < 0x80 ? 1 : 2);
  const length = (low & 0x7f) | (high << 7);
  const name = content.subarray(start, start + length);
  return length > 0 && name.length === length ? new TextDecoder().decode(name) : undefined;
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
