/** Messages as bodies of HTTP: JSON, or a form with files where there are any. */

import { type DescMessage, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import {
  type DescribeModelRequest,
  DescribeModelRequestSchema,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { Model } from "./gen/onnxplain/v1/model_pb.js";
import type { Table } from "./gen/onnxplain/v1/table_pb.js";
import { contentOf } from "./parcel.js";
import type { Format, TableFile } from "./tables.js";

/** A body with its type; a form has its own. */
export interface Content {
  readonly body: BodyInit;
  readonly type?: string;
}

/** What a request with a table has besides its options. */
interface Files {
  model?: Model | undefined;
  table?: Table | undefined;
}

/** A file beside a model. */
interface Beside {
  readonly name: string;
  readonly content: Uint8Array;
}

const JSON_TYPE = "application/json";
const MODEL_TYPE = "application/octet-stream";
const TABLE_TYPES: Record<Format, string> = {
  arrow: "application/vnd.apache.arrow.stream",
  parquet: "application/vnd.apache.parquet",
  csv: "text/csv",
};

/** Write a request with a table; files go as they are, beside the JSON. */
export function bodyWithTable<Schema extends DescMessage>(
  schema: Schema,
  request: MessageShape<Schema> & Files,
): Content {
  const plain = { ...request };
  const form = new FormData();
  let fileCount = 0;
  const model = contentOf(request.model);
  if (model !== undefined) {
    addModel(form, model, request.model?.files ?? []);
    delete plain.model;
    fileCount += 1;
  }
  const table = contentOf(request.table);
  if (table !== undefined) {
    form.set("table", fileOf(table, TABLE_TYPES[request.table?.source.case as Format]), "table");
    delete plain.table;
    fileCount += 1;
  }
  const body = toJsonString(schema, plain);
  if (fileCount === 0) return { body, type: JSON_TYPE };
  form.set("request", body);
  return { body: form };
}

/** Write a request to describe. */
export function describeBody(request: DescribeModelRequest): Content {
  const content = contentOf(request.model);
  return content === undefined
    ? { body: toJsonString(DescribeModelRequestSchema, request), type: JSON_TYPE }
    : modelBody(content, request.model?.files ?? []);
}

/** Write a model, with the files beside it: as a form where there are any. */
export function modelBody(content: Uint8Array, beside: readonly Beside[]): Content {
  if (beside.length === 0) return { body: content as BodyInit, type: MODEL_TYPE };
  const form = new FormData();
  addModel(form, content, beside);
  return { body: form };
}

function addModel(form: FormData, content: Uint8Array, beside: readonly Beside[]): void {
  form.set("model", fileOf(content, MODEL_TYPE), "model");
  for (const file of beside) {
    form.append("model_files", fileOf(file.content, MODEL_TYPE), file.name);
  }
}

/** Write a table to be kept. */
export function tableBody(format: TableFile["format"], content: Uint8Array): Content {
  return { body: content as BodyInit, type: TABLE_TYPES[format] };
}

function fileOf(content: Uint8Array, type: string): Blob {
  return new Blob([content as BlobPart], { type });
}
