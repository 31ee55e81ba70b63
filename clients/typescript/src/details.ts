/** Details of google.rpc.Status -> this client's errors. */

import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Any, anyUnpack, type Duration } from "@bufbuild/protobuf/wkt";
import { ExplainError } from "./errors.js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";
import type { Status } from "./gen/google/rpc/status_pb.js";
import { type Code, codeName } from "./reasons.js";

/** Finds the first detail of a type. */
export type FindDetail = <Detail extends DescMessage>(
  schema: Detail,
) => MessageShape<Detail> | undefined;

/** The reason of the service among the details; undefined where it told none. */
export function reasonIn(find: FindDetail): string | undefined {
  return find(ErrorInfoSchema)?.reason;
}

/** Make the error that a status with details tells. */
export function errorOf(
  message: string,
  code: Code,
  find: FindDetail,
  cause?: unknown,
): ExplainError {
  return new ExplainError(message, {
    reason: reasonIn(find) ?? code,
    code,
    field: find(BadRequestSchema)?.fieldViolations[0]?.field ?? "",
    retryAfterMs: milliseconds(find(RetryInfoSchema)?.retryDelay),
    cause,
  });
}

/** Make the error of a status that is no answer of a call, but of an operation. */
export function errorOfStatus({ code, message, details }: Status): ExplainError {
  return errorOf(message, codeName(code), (schema) => found(details, schema));
}

function found<Detail extends DescMessage>(
  details: readonly Any[],
  schema: Detail,
): MessageShape<Detail> | undefined {
  for (const each of details) {
    const detail = anyUnpack(each, schema);
    if (detail !== undefined) return detail;
  }
  return undefined;
}

function milliseconds(delay: Duration | undefined): number | undefined {
  return delay && 1_000 * Number(delay.seconds) + delay.nanos / 1e6;
}
