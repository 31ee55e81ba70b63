/** Problems of RFC 9457, as REST tells them -> this client's errors. */

import { ExplainError } from "./errors.js";
import { CODES, type Code } from "./reasons.js";

/** What of a problem is read. */
interface Problem {
  readonly reason?: string;
  readonly status?: number;
  readonly detail?: string;
  readonly errors?: readonly { readonly field?: string }[];
}

const STATUS_CODES: Readonly<Record<number, Code>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  413: "RESOURCE_EXHAUSTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** Read the problem of an answer; one of a proxy, which has none, is told by its status. */
export async function problemOf(response: Response): Promise<ExplainError> {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return toError(await response.text(), response.status, seconds);
}

/**
 * Read a problem.
 *
 * @param text JSON, or what a proxy wrote
 * @param status of HTTP; of an event, the one in the problem counts
 * @param retrySeconds NaN where nothing was said
 */
export function toError(text: string, status: number, retrySeconds = Number.NaN): ExplainError {
  const problem = read(text);
  const told = problem.status ?? status;
  const code = codeOf(problem.reason, told);
  return new ExplainError(problem.detail ?? `the answer was HTTP ${told}, without a reason`, {
    reason: problem.reason ?? code,
    code,
    field: problem.errors?.[0]?.field ?? "",
    retryAfterMs: Number.isFinite(retrySeconds) ? 1_000 * retrySeconds : undefined,
  });
}

function read(text: string): Problem {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}

function codeOf(reason: string | undefined, status: number): Code {
  const known: Readonly<Record<string, Code>> = CODES;
  return known[reason ?? ""] ?? STATUS_CODES[status] ?? "UNKNOWN";
}
