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
  const own = [...chain(error)].find((each) => each instanceof Own);
  if (own) return own.error;
  if (signal?.aborted) return ended("CANCELLED", signal.reason);
  const failure = ConnectError.from(error);
  const code = codeOf(failure);
  const reason = failure.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason === undefined && code === "UNAVAILABLE") {
    return unanswered(endpoint, failure.rawMessage, error);
  }
  return new ExplainError(failure.rawMessage || "the call ended without a message", {
    reason: reason ?? code,
    code,
    field: failure.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field ?? "",
    retryAfterMs: milliseconds(failure.findDetails(RetryInfoSchema)[0]?.retryDelay),
    cause: error,
  });
}

/** The name of a code. A connection that broke has none of its own, or one no server of ours says. */
function codeOf(failure: ConnectError): Code {
  if (failure.code === ConnectCode.Canceled) return "CANCELLED";
  if (failure.code === ConnectCode.Aborted || [...chain(failure)].some(isOfNode)) {
    return "UNAVAILABLE";
  }
  const words = ConnectCode[failure.code].replace(/(?<=[a-z])[A-Z]/g, "_$&");
  return words.toUpperCase() as Code;
}

/** What went wrong on this side: a file that cannot be read, a token that is none. */
export class Own extends Error {
  /** @param error what the caller should see */
  constructor(readonly error: unknown) {
    super("not the call's");
  }
}

/** The errors behind an error, itself first. */
function* chain(error: unknown): Generator<Error> {
  for (let each = error; each instanceof Error; each = each.cause) yield each;
}

/** Whether it is Node's: of a name, a connection, or a certificate. */
function isOfNode(error: Error): boolean {
  return "code" in error && typeof error.code === "string";
}

function milliseconds(delay: Duration | undefined): number | undefined {
  return delay && 1_000 * Number(delay.seconds) + delay.nanos / 1e6;
}
