/**
 * Serves the page of this folder, and passes `/v1` and `/readyz` on to a server of onnxplain, so
 * that both have one origin. Told: the address of the server, and the port to listen on.
 *
 * `node build/examples/origin.js http://localhost:8080 8000`
 */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { pipeline } from "node:stream";

const PACKAGE = new URL("../../", import.meta.url);
const SERVED = /^\/(dist|node_modules|examples\/page)\//;
const PASSED = /^\/(v1\/|readyz$)/;
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
};

const [address = "http://localhost:8080", port = "0"] = process.argv.slice(2);

/** Pass a request on, and its end to whoever is left. */
function pass(asked: IncomingMessage, answer: ServerResponse): void {
  const { method = "GET", headers } = asked;
  const onward = request(new URL(asked.url ?? "/", address), { method, headers }, (answered) => {
    answer.writeHead(answered.statusCode ?? 502, answered.headers);
    pipeline(answered, answer, () => undefined);
  });
  onward.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
}

/** Send a file of the package. */
async function serve(path: string, answer: ServerResponse): Promise<void> {
  const file = new URL(`.${path}`, PACKAGE);
  const found = SERVED.test(path) ? await stat(file).catch(() => undefined) : undefined;
  if (!found?.isFile()) {
    answer.writeHead(404).end();
    return;
  }
  answer.writeHead(200, { "Content-Type": TYPES[extname(path)] ?? "application/octet-stream" });
  pipeline(createReadStream(file), answer, () => undefined);
}

const server = createServer((asked, answer) => {
  const { pathname } = new URL(asked.url ?? "/", "http://localhost");
  if (PASSED.test(pathname)) pass(asked, answer);
  else void serve(pathname === "/" ? "/examples/page/index.html" : pathname, answer);
});
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
