/** A request that fits into a message, with the files at hand that it names by id. */

import { create, toBinary } from "@bufbuild/protobuf";
import type { ExplainError } from "./errors.js";
import { sourceInside } from "./external_data.js";
import {
  type CheckModelRequest,
  CheckModelRequestSchema,
  type DescribeModelRequest,
  DescribeModelRequestSchema,
  type DescribeTableRequest,
  DescribeTableRequestSchema,
  type ExplainRequest,
  ExplainRequestSchema,
  type PredictRequest,
  PredictRequestSchema,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import { type Model, type ModelFile, ModelSchema } from "./gen/onnxplain/v1/model_pb.js";
import { type Table, TableSchema } from "./gen/onnxplain/v1/table_pb.js";
import type { Source } from "./sources.js";

/** What can be named by id. */
export type Kind = "model" | "table";

/** A request that has files. */
export type Request =
  | ExplainRequest
  | DescribeModelRequest
  | DescribeTableRequest
  | PredictRequest
  | CheckModelRequest;

/** The files that a request names by id, as far as they are known. */
export type Sources = Partial<Record<Kind, Source | undefined>>;

/** An id that no server has. */
const UNKNOWN = `sha256:${"0".repeat(64)}`;

// Tags and lengths around files, and what a form needs in their place.
const FRAME_BYTES = 2_048;

/**
 * Name files by id until the request fits, the largest first.
 *
 * @param request is left as it is
 * @param sources gets the files that are named now
 * @param limit bytes that a message may have
 */
export async function fitted<R extends Request>(
  request: R,
  sources: Sources,
  limit: number,
): Promise<R> {
  const files = { model: request.model, table: tableOf(request) };
  const kinds = (["model", "table"] as const).filter((kind) => contentOf(files[kind]));
  kinds.sort((first, second) => sizeOf(files[second]) - sizeOf(files[first]));
  const fit = { ...request };
  let size = sizeWithout(request) + sizeOf(files.model) + sizeOf(files.table);
  for (const kind of kinds) {
    const content = contentOf(files[kind]);
    if (size <= limit || content === undefined) break;
    const beside = besideOf(files[kind]);
    sources[kind] = sourceInside(content, beside);
    // What a model in several files is in one piece is the server's to know: it is uploaded.
    rename(fit, kind, beside.length > 0 ? UNKNOWN : await digest(content));
    size -= sizeOf(files[kind]);
  }
  return fit;
}

/** Take out the file whose absence is the error; undefined where that is not the case. */
export function missing(error: ExplainError, sources: Sources): [Kind, Source] | undefined {
  if (error.reason !== "BLOB_NOT_FOUND") return undefined;
  const kind = error.field.split(".", 1)[0] === "model" ? "model" : "table";
  const source = sources[kind];
  delete sources[kind];
  return source === undefined ? undefined : [kind, source];
}

/** The bytes of a file that a message has inside. */
export function contentOf(file: Model | Table | undefined): Uint8Array | undefined {
  const value = file?.source.value;
  return value instanceof Uint8Array ? value : undefined;
}

function besideOf(file: Model | Table | undefined): readonly ModelFile[] {
  return file !== undefined && "files" in file ? file.files : [];
}

/** The bytes of a file and of those beside it. */
function sizeOf(file: Model | Table | undefined): number {
  const beside = besideOf(file).map((each) => each.content.length);
  return beside.reduce((size, more) => size + more, contentOf(file)?.length ?? 0);
}

/** The table of a request that can have one. */
export function tableOf(request: Request): Table | undefined {
  return "table" in request ? request.table : undefined;
}

function sizeWithout(request: Request): number {
  return bytesWithout(request).length + FRAME_BYTES;
}

function bytesWithout(request: Request): Uint8Array {
  const files = { model: undefined, table: undefined };
  switch (request.$typeName) {
    case "onnxplain.v1.ExplainRequest":
      return toBinary(ExplainRequestSchema, { ...request, ...files });
    case "onnxplain.v1.PredictRequest":
      return toBinary(PredictRequestSchema, { ...request, ...files });
    case "onnxplain.v1.CheckModelRequest":
      return toBinary(CheckModelRequestSchema, { ...request, ...files });
    case "onnxplain.v1.DescribeTableRequest":
      return toBinary(DescribeTableRequestSchema, { ...request, ...files });
    default:
      return toBinary(DescribeModelRequestSchema, create(DescribeModelRequestSchema));
  }
}

/** Put an id in the place of a file, or of another id. */
export function rename(request: Request, kind: Kind, id: string): void {
  const source = { case: "id", value: id } as const;
  if (kind === "model") request.model = create(ModelSchema, { source });
  else (request as ExplainRequest).table = create(TableSchema, { source });
}

/**
 * The id that an upload of this file would have. An empty one where the platform cannot tell, as
 * in pages that came without TLS: no server has it, so the file is uploaded.
 */
async function digest(content: Uint8Array): Promise<string> {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle === undefined) return UNKNOWN;
  const hash = new Uint8Array(await subtle.digest("SHA-256", content as BufferSource));
  return `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
