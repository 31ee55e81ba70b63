/** Files in all the forms in which callers have them. */

import type { NamedFile } from "./external_data.js";

/** Bytes of a file: in memory, in a browser's file, or as they come. */
export type Bytes = Uint8Array | ArrayBuffer | Blob | AsyncIterable<Uint8Array>;

/** A file that can be read. */
export interface Source {
  /** Whether it can be opened more than once. */
  readonly repeatable: boolean;

  open(): AsyncIterable<Uint8Array>;

  /** Of a model: open the files beside it that it names; those that it may not name are left out. */
  beside?(names: readonly string[]): Promise<readonly NamedFile[]>;
}

/** Opens what only one platform has, like paths; throws TypeError for what it does not know. */
export type Opener = (input: unknown) => Source;

/** Opens `Bytes`; other input goes to `elsewhere`. */
export function sourceOf(input: unknown, elsewhere: Opener): Source {
  if (input instanceof Uint8Array) return { repeatable: true, open: () => once(input) };
  if (input instanceof ArrayBuffer) return sourceOf(new Uint8Array(input), elsewhere);
  if (input instanceof Blob) return { repeatable: true, open: () => read(input.stream()) };
  if (isAsyncIterable(input)) return { repeatable: false, open: () => input };
  return elsewhere(input);
}

/** Read a whole file. */
export async function collect(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const kept: Uint8Array[] = [];
  for await (const part of parts) kept.push(part);
  return joined(kept);
}

/** Put parts together. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let filled = 0;
  for (const part of parts) {
    whole.set(part, filled);
    filled += part.length;
  }
  return whole;
}

/** Cut a file into parts of this many bytes, but for the last; an empty file has a part too. */
export async function* cut(
  parts: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let part = new Uint8Array(size);
  let filled = 0;
  let isEmpty = true;
  for await (const given of parts) {
    for (let start = 0; start < given.length; ) {
      const taken = given.subarray(start, start + size - filled);
      part.set(taken, filled);
      start += taken.length;
      filled += taken.length;
      if (filled === size) {
        yield part;
        isEmpty = false;
        part = new Uint8Array(size);
        filled = 0;
      }
    }
  }
  if (filled > 0 || isEmpty) yield part.subarray(0, filled);
}

/** Look at the first bytes of a file, `count` of them where it has so many. */
export async function peek(
  parts: AsyncIterable<Uint8Array>,
  count: number,
): Promise<{ head: Uint8Array; all: AsyncIterable<Uint8Array> }> {
  const rest = parts[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array();
  while (head.length < count) {
    const next = await rest.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : joined([head, next.value]);
  }
  return { head, all: chained(head, rest) };
}

/** Read a stream; browsers' are not all iterable. */
export async function* read(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* chained(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

function isAsyncIterable(input: unknown): input is AsyncIterable<Uint8Array> {
  return typeof input === "object" && input !== null && Symbol.asyncIterator in input;
}
