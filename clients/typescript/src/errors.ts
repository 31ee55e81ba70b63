/** The one error of this client. */

import type { Code, Reason } from "./reasons.js";

/** What an error tells besides its message. */
export interface Failure {
  readonly reason: Reason;
  readonly code: Code;
  readonly field?: string;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * A call that ended without an answer, whoever ended it. Its `message` is for people: which
 * input, which rule, what to do.
 *
 * @example
 * ```ts
 * try {
 *   await client.explain({ model, table, methods: [{ interactions: { features: ["agee"] } }] });
 * } catch (error) {
 *   if (!(error instanceof ExplainError)) throw error;
 *   console.log(error.reason, error.field); // UNKNOWN_FEATURE methods[0].interactions.features
 * }
 * ```
 */
export class ExplainError extends Error {
  override readonly name = "ExplainError";

  /** What to act upon, like "MISSING_COLUMN". Where the service was not reached, as `code`. */
  readonly reason: Reason;

  /** Name of the gRPC code, like "INVALID_ARGUMENT"; "UNAVAILABLE" where nobody answered. */
  readonly code: Code;

  /** Path of the request's field, like "methods[0].interactions.features"; may be empty. */
  readonly field: string;

  /** After how long the same may succeed, as the server says; undefined where it does not. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, failure: Failure) {
    super(message, { cause: failure.cause });
    this.reason = failure.reason;
    this.code = failure.code;
    this.field = failure.field ?? "";
    this.retryAfterMs = failure.retryAfterMs;
  }
}

/** An error of a call that its caller, or the time for it, has ended. */
export function ended(code: "CANCELLED" | "DEADLINE_EXCEEDED", cause?: unknown): ExplainError {
  const messages = {
    CANCELLED: "the call was cancelled by its caller",
    DEADLINE_EXCEEDED: "the time for the call is over",
  };
  return new ExplainError(messages[code], { reason: code, code, cause });
}

/** An error for a server that does not answer. */
export function unanswered(endpoint: string, why: string, cause: unknown): ExplainError {
  const message = `no answer from ${endpoint}: ${why}; check that a server listens there`;
  return new ExplainError(message, { reason: "UNAVAILABLE", code: "UNAVAILABLE", cause });
}
