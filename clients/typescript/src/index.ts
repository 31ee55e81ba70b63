/**
 * The client for Node, over gRPC.
 *
 * @example
 * ```ts
 * import { connect } from "onnxplain";
 *
 * const client = connect("localhost:8081");
 * const methods = [{ interactions: {} }];
 * const found = await client.explain({ model: "model.onnx", table: "rows.csv", methods });
 * console.log(found.result("interactions").total?.values);
 * client.close();
 * ```
 */

import type { SecureClientSessionOptions } from "node:http2";
import { Client } from "./client.js";
import { openPath, type Path } from "./files.js";
import { GrpcWire } from "./grpc.js";
import { authorization } from "./security.js";
import { type ConnectOptions, Terms } from "./terms.js";

export * from "./api.js";
export type { Path } from "./files.js";

/** How to encrypt: authorities to trust besides none, and the client's own certificate, in PEM. */
export type Tls = Pick<SecureClientSessionOptions, "ca" | "cert" | "key" | "servername">;

/** What `connect` takes. */
export interface GrpcConnectOptions extends ConnectOptions {
  /** Encrypts: `true` trusts the authorities of Node, `{ ca }` those in PEM instead. */
  readonly tls?: boolean | Tls;
}

/**
 * Make a client. Nothing is sent yet: a server that is missing shows at the first call.
 *
 * @param endpoint host and port of the server
 * @throws TypeError where the endpoint is no such pair, or a token would go unencrypted
 *
 * @example
 * ```ts
 * const client = connect("explain.example:443", { tls: true, token: () => readToken() });
 * const local = connect("localhost:8081", {
 *   tls: { ca: readFileSync("ca.crt"), cert: readFileSync("tls.crt"), key: readFileSync("tls.key") },
 * });
 * ```
 */
export function connect(
  endpoint = "localhost:8081",
  options: GrpcConnectOptions = {},
): Client<Path> {
  const { tls = false } = options;
  if (endpoint.includes("/")) {
    throw new TypeError(`the endpoint is host:port, like "localhost:8081", not "${endpoint}"`);
  }
  const url = new URL(`${tls ? "https" : "http"}://${endpoint}`);
  const terms = new Terms(options);
  const wire = new GrpcWire({
    url,
    tls: typeof tls === "object" ? tls : {},
    authorization: authorization(url, options),
    messageLimit: terms.messageLimit,
  });
  return new Client<Path>(wire, terms, openPath);
}
