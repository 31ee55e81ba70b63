/** Where gRPC's errors become this client's: once, and nowhere else. */

import { Code as ConnectCode, ConnectError } from "@connectrpc/connect";
import { errorOf, type FindDetail, reasonIn } from "./details.js";
import { ended, unanswered } from "./errors.js";
import { type Code, codeName } from "./reasons.js";

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
  const find: FindDetail = (schema) => failure.findDetails(schema)[0];
  if (reasonIn(find) === undefined && code === "UNAVAILABLE") {
    return unanswered(endpoint, failure.rawMessage, error);
  }
  const message = failure.rawMessage || "the call ended without a message";
  return errorOf(message, code, find, error);
}

/** The name of a code. A connection that broke has none of its own, or one no server of ours says. */
function codeOf(failure: ConnectError): Code {
  // Without a status of the server's, and without the caller having left: the connection broke.
  if (failure.rawMessage.startsWith("http/2 stream closed")) return "UNAVAILABLE";
  if (failure.code === ConnectCode.Canceled) return "CANCELLED";
  if (failure.code === ConnectCode.Aborted || [...chain(failure)].some(isOfNode)) {
    return "UNAVAILABLE";
  }
  return codeName(failure.code);
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
