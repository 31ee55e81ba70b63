/** What callers ask -> requests of the contract. */

import { type DescMessage, fromJson, type MessageShape } from "@bufbuild/protobuf";
import {
  type CheckModelRequest,
  type CheckModelRequestJson,
  CheckModelRequestSchema,
  type DescribeTableRequest,
  type DescribeTableRequestJson,
  DescribeTableRequestSchema,
  type ExplainRequest,
  type ExplainRequestJson,
  ExplainRequestSchema,
  type PredictRequest,
  type PredictRequestJson,
  PredictRequestSchema,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import { type ModelInput, type TableInput, toModel, toTable } from "./inputs.js";
import type { Method } from "./methods.js";
import type { Sources } from "./parcel.js";
import type { Opener } from "./sources.js";

/**
 * What to explain, on which rows, and how. Besides model, table and methods these are the
 * options of the contract's ExplainRequest, by its names in JSON.
 */
export interface ExplainInput<Path = never>
  extends Omit<ExplainRequestJson, "model" | "table" | "methods"> {
  /** Left out for sequences that bring weights. */
  readonly model?: ModelInput<Path> | undefined;

  /** Left out for methods that need none. */
  readonly table?: TableInput<Path> | undefined;

  /** At least one; they share the rows and the predictions. */
  readonly methods: readonly Method[];
}

/** Which rows to predict, and how: the options of the contract's PredictRequest. */
export interface PredictInput<Path = never> extends Omit<PredictRequestJson, "model" | "table"> {
  readonly model: ModelInput<Path>;
  readonly table: TableInput<Path>;
}

/** Which model to check, and how: the options of the contract's CheckModelRequest. */
export interface CheckModelInput<Path = never>
  extends Omit<CheckModelRequestJson, "model" | "table"> {
  readonly model: ModelInput<Path>;
  readonly table: TableInput<Path>;
}

/** Which table to describe, and how: the options of the contract's DescribeTableRequest. */
export interface DescribeTableInput<Path = never>
  extends Omit<DescribeTableRequestJson, "model" | "table"> {
  /** Its features are matched with the columns. */
  readonly model?: ModelInput<Path> | undefined;
  readonly table: TableInput<Path>;
}

/** A request, with the files that it names by id. */
export interface Asked<Request = ExplainRequest> {
  readonly request: Request;
  readonly sources: Sources;
}

/** What a request with a table has besides its options. */
interface Files<Path> {
  readonly model?: ModelInput<Path> | undefined;
  readonly table?: TableInput<Path> | undefined;
}

/**
 * Write a request, with its files inside.
 *
 * @throws TypeError for options that the contract does not have
 */
export function toRequest<Path>(input: ExplainInput<Path>, opener: Opener): Promise<Asked> {
  return withFiles(ExplainRequestSchema, input, opener);
}

/** Write a request for predictions, likewise. */
export function toPredictRequest<Path>(
  input: PredictInput<Path>,
  opener: Opener,
): Promise<Asked<PredictRequest>> {
  return withFiles(PredictRequestSchema, input, opener);
}

/** Write a request for a check, likewise. */
export function toCheckModelRequest<Path>(
  input: CheckModelInput<Path>,
  opener: Opener,
): Promise<Asked<CheckModelRequest>> {
  return withFiles(CheckModelRequestSchema, input, opener);
}

/** Write a request about a table, likewise. */
export function toDescribeTableRequest<Path>(
  input: DescribeTableInput<Path>,
  opener: Opener,
): Promise<Asked<DescribeTableRequest>> {
  return withFiles(DescribeTableRequestSchema, input, opener);
}

type WithTable =
  | typeof ExplainRequestSchema
  | typeof PredictRequestSchema
  | typeof CheckModelRequestSchema
  | typeof DescribeTableRequestSchema;

async function withFiles<Path, Schema extends WithTable>(
  schema: Schema,
  input: Files<Path>,
  opener: Opener,
): Promise<Asked<MessageShape<Schema>>> {
  const { model, table, ...options } = input;
  const request = fromOptions(schema, options);
  const sources: Sources = {};
  if (model !== undefined) {
    ({ message: request.model, source: sources.model } = await toModel(model, opener));
  }
  if (table !== undefined) {
    ({ message: request.table, source: sources.table } = await toTable(table, opener));
  }
  return { request, sources };
}

function fromOptions<Schema extends DescMessage>(
  schema: Schema,
  options: object,
): MessageShape<Schema> {
  try {
    return fromJson(schema, JSON.parse(JSON.stringify(options, canonical)));
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Write numbers that JSON does not have as the contract's JSON does. */
function canonical(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
