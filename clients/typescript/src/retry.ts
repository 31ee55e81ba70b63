/** When a call that failed is made again. */

import { type ExplainError, ended } from "./errors.js";

const FIRST_MS = 100;
const MOST_MS = 2_000;

/**
 * The attempts at one call, and the pauses between them.
 *
 * What failed because nobody answered, or because the server had too much to do just then, is
 * tried again: explaining changes nothing, so twice is as good as once. What the server refused
 * stays refused.
 */
export class Attempts {
  private left: number;
  private longest = FIRST_MS;
  private readonly end: number | undefined;

  /**
   * @param retries attempts after the first one
   * @param timeoutMs time for all attempts and pauses together
   * @param signal ends pauses too
   */
  constructor(
    retries: number,
    timeoutMs: number | undefined,
    readonly signal: AbortSignal | undefined,
  ) {
    this.left = retries;
    this.end = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
  }

  /** The time that is left for the next attempt. */
  remainingMs(): number | undefined {
    return this.end === undefined ? undefined : Math.max(0, this.end - performance.now());
  }

  /**
   * Wait before the next attempt, or throw the error where there is none.
   *
   * Each pause is about twice as long as the one before it, with chance in it, so that many
   * clients do not return at the same moment; and no shorter than the server asked for.
   */
  async pause(error: ExplainError): Promise<void> {
    const chance = 0.5 + Math.random() / 2;
    const pauseMs = (error.retryAfterMs ?? 0) + chance * this.longest;
    const remaining = this.remainingMs() ?? Number.POSITIVE_INFINITY;
    if (this.left === 0 || !mayPass(error) || pauseMs >= remaining) throw error;
    this.left -= 1;
    this.longest = Math.min(2 * this.longest, MOST_MS);
    await sleep(pauseMs, this.signal);
  }
}

/** Whether the same request may succeed later. */
function mayPass(error: ExplainError): boolean {
  // Without a time to come back this is a message over the limit, now and always. A quota has room
  // after minutes: the caller decides whether to wait for them.
  if (error.code === "RESOURCE_EXHAUSTED")
    return error.retryAfterMs !== undefined && error.reason !== "QUOTA_EXCEEDED";
  return error.code === "UNAVAILABLE" || wasCut(error);
}

/**
 * Whether a server that closed has ended the call without a word of its own.
 *
 * Who aborts a call, or closes the client, is told so in other words.
 */
function wasCut(error: ExplainError): boolean {
  return error.code === "CANCELLED" && error.message === "CANCELLED";
}

/** Wait; it ends early, with an error, where the caller leaves. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(ended("CANCELLED", signal?.reason));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, ms);
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
  });
}
