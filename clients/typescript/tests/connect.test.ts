/** What connecting takes and refuses. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { connect, ExplainError } from "onnxplain";
import { connect as connectRest } from "onnxplain/rest";
import { CODES } from "#internal/reasons.js";
import { answering } from "./answering.js";

const MODEL = new Uint8Array();

for (const endpoint of ["explain.example:80", "192.0.2.1:80", "127.0.0.1.example:80"]) {
  test(`a token does not go to ${endpoint} for everybody to read`, () => {
    const refused = { name: "TypeError", message: /would go to .* unencrypted/ };

    assert.throws(() => connect(endpoint, { token: "t" }), refused);
    assert.throws(() => connectRest(`http://${endpoint}`, { token: "t" }), refused);
    connect(endpoint, { token: "t", tls: true }).close();
    connect(endpoint, { token: "t", allowUnencryptedToken: true }).close();
    connectRest(`https://${endpoint}`, { token: "t" });
  });
}

for (const endpoint of ["localhost:80", "127.0.0.1:80", "127.1.2.3:80", "[::1]:80"]) {
  test(`a token may go to ${endpoint}`, () => {
    connect(endpoint, { token: "t" }).close();
  });
}

for (const token of ["", "two words", "line\nbreak"]) {
  test(`${JSON.stringify(token)} is no token, and not repeated`, async () => {
    const refused = {
      name: "TypeError",
      message: "the token is empty, or has characters that no bearer token has",
    };

    assert.throws(() => connect("localhost:1", { token }), refused);
    const rest = connectRest("http://localhost:1", { token: () => token });
    await assert.rejects(rest.describe(MODEL), refused);
    const client = connect("localhost:1", { token: async () => token });
    await assert.rejects(client.describe(MODEL), refused);
    client.close();
  });
}

test("a token is asked for before each call", async () => {
  using server = await answering({ body: { model: {} } });
  let count = 0;
  const client = connectRest(server.url, { token: () => `token${++count}` });

  await client.describe(MODEL);
  await client.describe(MODEL);

  const shown = server.asked.map((each) => each.headers.authorization);
  assert.deepEqual(shown, ["Bearer token1", "Bearer token2"]);
});

test("routes are below the address that is given", async () => {
  using server = await answering({ body: { model: {} } });

  await connectRest(`${server.url}/explain`).describe(MODEL);
  await connectRest(`${server.url}/explain/`).describe(MODEL);

  const route = "POST /explain/v1/models:describe";
  assert.deepEqual(
    server.asked.map((each) => each.route),
    [route, route],
  );
});

test("an endpoint of gRPC is no address of the web", () => {
  assert.throws(() => connect("http://localhost:8081"), /host:port, like "localhost:8081"/);
});

test("nobody listening is UNAVAILABLE, and tells where", async () => {
  const server = await answering({ body: "" });
  server[Symbol.dispose]();
  const client = connect(server.url.slice(7), { retries: 1 });

  await assert.rejects(client.describe(MODEL), (error) => {
    assert.ok(error instanceof ExplainError);
    assert.equal(error.code, "UNAVAILABLE");
    assert.match(error.message, /no answer from 127.0.0.1:\d+: .*ECONNREFUSED/);
    return true;
  });
  client.close();
});

test("a file that is not there is the file system's error", async () => {
  const client = connect("localhost:1");

  await assert.rejects(client.describe("missing.onnx"), { code: "ENOENT" });
  await assert.rejects(client.uploadModel("missing.onnx"), { code: "ENOENT" });
  await assert.rejects(client.uploadTable("missing.csv"), { code: "ENOENT" });
  client.close();
});

test("every reason of the service has its code", () => {
  const page = readFileSync(new URL("../../../../docs/errors.md", import.meta.url), "utf8");
  const reasons = [...page.matchAll(/^\| `([A-Z_]+)` \| .*? \| ([A-Z_]+) \|/gm)];

  assert.ok(reasons.length > 20);
  const known: Readonly<Record<string, string>> = CODES;
  for (const [, reason = "", code] of reasons) assert.equal(known[reason], code, reason);
});
