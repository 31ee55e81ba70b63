/** A server that answers as it is told, and keeps what it was asked. */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What was asked. */
export interface Asked {
  readonly route: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** What to answer; a number of milliseconds in place of it leaves the caller waiting. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

/** An empty answer to a request to explain. */
export const EXPLAINED: Answer = { body: { explanations: [], warnings: [] } };

/** A problem as the service tells it. */
export function problem(status: number, reason: string, field = "", retryAfter?: string): Answer {
  const headers = retryAfter === undefined ? {} : { "Retry-After": retryAfter };
  const errors = field === "" ? [] : [{ field }];
  return { status, headers, body: { reason, status, detail: `because of ${reason}`, errors } };
}

/** Answer one request after the other, the last answer again and again; undefined never. */
export async function answering(...answers: (Answer | undefined)[]) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    asked.push({ route: `${request.method} ${request.url}`, headers: request.headers, body });
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === undefined) return;
    const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
    response.writeHead(answer.status ?? 200, answer.headers).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, asked, [Symbol.dispose]: close };
}
