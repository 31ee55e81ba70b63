/** How a client shows who calls. */

import type { ConnectOptions, Token } from "./terms.js";

// RFC 6750, section 2.1.
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

/**
 * What makes the `authorization` of each call; undefined without a token.
 *
 * @throws TypeError where a token would be sent for everybody to read, or is none
 */
export function authorization(
  url: URL,
  options: ConnectOptions,
): (() => Promise<string>) | undefined {
  const { token, allowUnencryptedToken = false } = options;
  if (token === undefined) return undefined;
  if (url.protocol !== "https:" && !allowUnencryptedToken && !LOOPBACK.test(url.hostname)) {
    throw new TypeError(
      `the token would go to ${url.host} unencrypted; use TLS, or allowUnencryptedToken ` +
        "where something else encrypts it",
    );
  }
  if (typeof token === "string") checked(token);
  return async () => `Bearer ${checked(await current(token))}`;
}

function current(token: Token): string | Promise<string> {
  return typeof token === "string" ? token : token();
}

/** Return the token; an error of a library below would repeat it. */
function checked(token: string): string {
  if (TOKEN.test(token)) return token;
  throw new TypeError("the token is empty, or has characters that no bearer token has");
}
