/** What callers give -> messages, and the files that messages name by their ids. */

import { create } from "@bufbuild/protobuf";
import { type ModelFiles, openModel, readBeside } from "./external_data.js";
import { type Model, ModelSchema } from "./gen/onnxplain/v1/model_pb.js";
import { type Table, TableSchema } from "./gen/onnxplain/v1/table_pb.js";
import { ModelRef, TableRef } from "./references.js";
import { RemoteModel } from "./remotes.js";
import { type Bytes, collect, type Opener, type Source, sourceOf } from "./sources.js";
import { type Columns, fromColumns, fromRows, opened, type Rows } from "./tables.js";
import { ModelUri, TableUris } from "./uris.js";

/**
 * An ONNX file, a model in several files, its address, a model behind an address, or what
 * `uploadModel` returned. `Path` is what the platform opens by name: files that the model names for
 * values of its tensors are read beside it.
 */
export type ModelInput<Path = never> =
  | Path
  | Bytes
  | ModelFiles
  | ModelRef
  | ModelUri
  | RemoteModel;

/**
 * A CSV, Parquet or Arrow file, told apart by what is in it, packed by gzip or not; rows or
 * columns in memory; addresses of files; or what `uploadTable` returned.
 */
export type TableInput<Path = never> = Path | Bytes | TableRef | TableUris | Rows | Columns;

/** A message with the file that it names by id, if it does. */
export interface Input<Message> {
  readonly message: Message;
  readonly source: Source | undefined;
}

/** Read a model into a message. */
export async function toModel(input: unknown, opener: Opener): Promise<Input<Model>> {
  if (input instanceof ModelRef) {
    const source = { case: "id", value: input.id } as const;
    return { message: create(ModelSchema, { source }), source: input.source };
  }
  if (input instanceof ModelUri || input instanceof RemoteModel) {
    return { message: input.toMessage(), source: undefined };
  }
  const file = openModel(input, opener);
  const value = await collect(file.open());
  const files = await readBeside(file, value);
  const source = { case: "content", value } as const;
  return { message: create(ModelSchema, { source, files }), source: undefined };
}

/** Read a table into a message. */
export async function toTable(input: unknown, opener: Opener): Promise<Input<Table>> {
  if (input instanceof TableRef) {
    const source = { case: "id", value: input.id } as const;
    return { message: create(TableSchema, { source }), source: input.source };
  }
  if (input instanceof TableUris) return { message: input.toMessage(), source: undefined };
  const { format, content } = await opened(tableSource(input, opener));
  const source = { case: format, value: await collect(content) };
  return { message: create(TableSchema, { source }), source: undefined };
}

/** Find the file in what a caller gave as a table; rows and columns are made one. */
export function tableSource(input: unknown, opener: Opener): Source {
  return sourceOf(input, (other) => {
    if (Array.isArray(other)) return sourceOf(fromRows(other), opener);
    if (isPlain(other)) return sourceOf(fromColumns(other as Columns), opener);
    return opener(other);
  });
}

function isPlain(input: unknown): boolean {
  return typeof input === "object" && input !== null && !(input instanceof URL);
}
