/**
 * The client for web pages, and wherever else there is fetch, over REST.
 *
 * A server accepts pages of its own origin, and of those in its setting `allowed_origins`. Without
 * the setting, serve the page and pass `/v1` and `/readyz` on to the server behind one address.
 *
 * @example
 * ```ts
 * import { connect } from "onnxplain/rest";
 * import vegaEmbed from "vega-embed";
 *
 * const client = connect();
 * const model = document.querySelector("#model").files[0];
 * const found = await client.explain({ model, table: rows, methods: [{ interactions: {} }] });
 * await vegaEmbed("#plot", found.plot("overall").vegaLite);
 * ```
 */

import { Client } from "./client.js";
import { Fetching } from "./fetching.js";
import { RestWire } from "./http.js";
import { authorization } from "./security.js";
import { type ConnectOptions, Terms } from "./terms.js";

export * from "./api.js";

/**
 * Make a client. Nothing is sent yet: a server that is missing shows at the first call.
 *
 * @param url address of the server; in a page by default the page's own origin
 * @throws TypeError where there is no such address, or a token would go unencrypted
 *
 * @example
 * ```ts
 * const client = connect("https://explain.example/", { token: () => session.token });
 * ```
 */
export function connect(url: string | URL = origin(), options: ConnectOptions = {}): Client {
  // Routes are below the address, whether it ends with "/" or not.
  const base = new URL(String(url).replace(/\/*$/, "/"));
  const wire = new RestWire(new Fetching(base, authorization(base, options)));
  return new Client(wire, new Terms(options), refuse);
}

function origin(): string {
  if (typeof location === "object") return location.origin;
  throw new TypeError('outside of a page, name the server, like "http://localhost:8080"');
}

function refuse(input: unknown): never {
  const kind = input === null ? "null" : typeof input;
  throw new TypeError(
    `cannot read a file from ${kind}: give bytes, a File or other Blob, an async iterable of ` +
      "bytes, or for a table rows or columns",
  );
}
