/** Where gRPC's errors become this client's: once, and nowhere else. */

import type { Duration } from "@bufbuild/protobuf/wkt";
import { Code as ConnectCode, ConnectError } from "@connectrpc/connect";
import { ExplainError, ended, unanswered } from "./errors.js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";
import type { Code } from "./reasons.js";

/**
 * Turn a failure of a call into an ExplainError.
 *
 * @param error what the call threw; one that is not of the call, like a file's, is returned
 * @param endpoint whom the call was for
 * @param signal by which the caller may have left
 */
export function toExplainError(
  error: unknown,
  endpoint: string,
  signal: AbortSignal | undefined,
): unknown {
  if (signal?.aborted) return ended("CANCELLED", signal.reason);
  const failure = ConnectError.from(error);
  const code = codeOf(failure);
  const reason = failure.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason === undefined && code === "UNAVAILABLE") {
    return unanswered(endpoint, failure.rawMessage, error);
  }
  if (reason === undefined && isOwn(failure)) return failure.cause;
  return new ExplainError(failure.rawMessage || "the call ended without a message", {
    reason: reason ?? code,
    code,
    field: failure.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field ?? "",
    retryAfterMs: milliseconds(failure.findDetails(RetryInfoSchema)[0]?.retryDelay),
    cause: error,
  });
}

/** The name of a code. A connection that broke is told as ABORTED, which no server of ours says. */
function codeOf(failure: ConnectError): Code {
  if (failure.code === ConnectCode.Aborted) return "UNAVAILABLE";
  if (failure.code === ConnectCode.Canceled) return "CANCELLED";
  const words = ConnectCode[failure.code].replace(/(?<=[a-z])[A-Z]/g, "_$&");
  return words.toUpperCase() as Code;
}

/** Whether it is no failure of the call: a file that cannot be read, a token that is none. */
function isOwn({ cause }: ConnectError): boolean {
  if (!(cause instanceof Error)) return false;
  return cause instanceof TypeError || "syscall" in cause;
}

function milliseconds(delay: Duration | undefined): number | undefined {
  return delay && 1_000 * Number(delay.seconds) + delay.nanos / 1e6;
}
