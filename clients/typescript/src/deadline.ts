/** When a call by fetch ends, and how that is told. */

import { ExplainError, ended, unanswered } from "./errors.js";
import { type Linked, linked } from "./signals.js";
import type { CallOptions } from "./terms.js";

/** Ends one call: by its caller, by its time, or because its answer is there. */
export class Deadline {
  /** For fetch. */
  readonly signal: AbortSignal;

  /** Tells the server, too. */
  readonly headers: Readonly<Record<string, string>>;

  private readonly link: Linked;
  private readonly left = new AbortController();
  private readonly over: AbortSignal | undefined;
  private readonly caller: AbortSignal | undefined;

  /** @param endpoint named in errors */
  constructor(
    call: CallOptions,
    private readonly endpoint: string,
  ) {
    // The server takes no 0.
    const ms = call.timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(call.timeoutMs));
    this.caller = call.signal;
    this.over = ms === undefined ? undefined : AbortSignal.timeout(ms);
    this.link = linked(this.left.signal, this.caller, this.over);
    this.signal = this.link.signal;
    this.headers = ms === undefined ? {} : { "X-Request-Timeout-Ms": String(ms) };
  }

  /** Let go of what is still coming. */
  leave(): void {
    this.left.abort();
    this.link.release();
  }

  /** Turn whatever was thrown on the way into an ExplainError. */
  told(error: unknown): ExplainError {
    if (error instanceof ExplainError) return error;
    if (this.caller?.aborted) return ended("CANCELLED", this.caller.reason);
    if (this.over?.aborted) return ended("DEADLINE_EXCEEDED", error);
    const why = reasonOf(error);
    // What fetch throws where nobody answers, or the connection breaks.
    if (error instanceof TypeError) return unanswered(this.endpoint, why, error);
    const message = `the answer cannot be read: ${why}`;
    return new ExplainError(message, { reason: "INTERNAL", code: "INTERNAL", cause: error });
  }
}

/** What went wrong; Node's fetch says it in the cause only. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
