/** What callers ask -> the contract's ExplainRequest. */

import { fromJson } from "@bufbuild/protobuf";
import {
  type ExplainRequest,
  type ExplainRequestJson,
  ExplainRequestSchema,
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

/** A request, with the files that it names by id. */
export interface Asked {
  readonly request: ExplainRequest;
  readonly sources: Sources;
}

/**
 * Write a request, with its files inside.
 *
 * @throws TypeError for options that the contract does not have
 */
export async function toRequest<Path>(input: ExplainInput<Path>, opener: Opener): Promise<Asked> {
  const { model, table, ...options } = input;
  const request = fromOptions(options);
  const sources: Sources = {};
  if (model !== undefined) {
    ({ message: request.model, source: sources.model } = await toModel(model, opener));
  }
  if (table !== undefined) {
    ({ message: request.table, source: sources.table } = await toTable(table, opener));
  }
  return { request, sources };
}

function fromOptions(options: Omit<ExplainInput, "model" | "table">): ExplainRequest {
  try {
    return fromJson(ExplainRequestSchema, JSON.parse(JSON.stringify(options, canonical)));
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Write numbers that JSON does not have as the contract's JSON does. */
function canonical(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
