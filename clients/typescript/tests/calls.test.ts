/** What a client sends, and what it makes of answers; over REST, where both can be read. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { ExplainError } from "onnxplain";
import { connect, ModelRef, ModelUri, RemoteModel, TableRef, TableUris } from "onnxplain/rest";
import { type Answer, answering, EXPLAINED, problem } from "./answering.js";

const METHODS = [{ interactions: {} }];
const MODEL = new TextEncoder().encode("a model");
const ID = `sha256:${createHash("sha256").update(MODEL).digest("hex")}`;
const UPLOADED: Answer = { body: { id: ID } };

function failure(promise: Promise<unknown>): Promise<ExplainError> {
  return promise.then(
    () => assert.fail("the call was answered"),
    (error: unknown) => {
      assert.ok(error instanceof ExplainError, String(error));
      return error;
    },
  );
}

function routes(server: { asked: { route: string }[] }): string[] {
  return server.asked.map((each) => each.route);
}

test("files go as they are, beside the options in JSON", async () => {
  using server = await answering(EXPLAINED);
  const table = new TextEncoder().encode("a,b\n1,2\n");

  await connect(server.url).explain({ model: MODEL, table, methods: METHODS, rowCount: 7 });

  const [asked] = server.asked;
  const form = await new Response(new Uint8Array(asked?.body ?? []), {
    headers: { "Content-Type": asked?.headers["content-type"] ?? "" },
  }).formData();
  assert.equal(await (form.get("model") as File).text(), "a model");
  assert.equal((form.get("table") as File).type, "text/csv");
  const request = JSON.parse(form.get("request") as string);
  assert.deepEqual(request, { rowCount: 7, methods: [{ interactions: {} }] });
});

test("numbers that JSON does not have are written as the contract does", async () => {
  using server = await answering(EXPLAINED);
  const grids = [{ columns: [{ name: "age", numbers: [1, Number.NaN] }] }];

  await connect(server.url).explain({ methods: [{ partialDependence: { grids } }] });

  const { methods } = JSON.parse(String(server.asked[0]?.body));
  assert.deepEqual(methods[0].partialDependence.grids[0].columns[0].numbers, [1, "NaN"]);
});

test("an option that does not exist is refused before anything is sent", async () => {
  using server = await answering(EXPLAINED);
  const methods = [{ interactions: { pairwise: 3 } }] as unknown as typeof METHODS;

  await assert.rejects(connect(server.url).explain({ methods }), {
    name: "TypeError",
    message: /InteractionsOptions.*"pairwise" is unknown/,
  });
  assert.deepEqual(server.asked, []);
});

test("a file that the server has no longer is uploaded again", async () => {
  using server = await answering(
    UPLOADED,
    problem(404, "BLOB_NOT_FOUND", "model.id"),
    UPLOADED,
    EXPLAINED,
  );
  const client = connect(server.url);

  const model = await client.uploadModel(MODEL);
  await client.explain({ model, methods: METHODS });

  const asked = ["PUT /v1/models", "POST /v1/explanations"];
  assert.deepEqual(routes(server), [...asked, ...asked]);
  assert.deepEqual(server.asked[2]?.body, Buffer.from(MODEL));
  assert.deepEqual(JSON.parse(String(server.asked[3]?.body)).model, { id: ID });
});

test("files of stores are named by their URIs", async () => {
  using server = await answering(EXPLAINED, EXPLAINED);
  const client = connect(server.url);

  const model = new ModelUri("models:/churn@champion", "0".repeat(64));
  const filters = [{ column: "year", values: ["2026"] }];
  const table = new TableUris(["s3://lake/"], { format: "csv", filters });
  await client.explain({ model, table, methods: METHODS });

  const sent = JSON.parse(String(server.asked[0]?.body));
  assert.deepEqual(sent.model, { uri: "models:/churn@champion", sha256: "0".repeat(64) });
  assert.deepEqual(sent.table, { uris: { uris: ["s3://lake/"], format: "CSV", filters } });
});

test("a model behind an address is named", async () => {
  using server = await answering(EXPLAINED);
  const client = connect(server.url);

  const inputs = [{ name: "age", type: "double" }];
  const options = { protocol: "KSERVE_V1", inputs, outputNames: ["stays", "leaves"] } as const;
  const model = new RemoteModel("http://models:8080", "churn", options);
  await client.explain({ model, methods: METHODS });

  const sent = JSON.parse(String(server.asked[0]?.body));
  assert.deepEqual(sent.model, {
    remote: { uri: "http://models:8080", name: "churn", ...options },
  });
});

test("an id without its file is the caller's to upload", async () => {
  using server = await answering(problem(404, "BLOB_NOT_FOUND", "model.id"));
  const client = connect(server.url);

  const input = { model: new ModelRef(ID), methods: METHODS };
  assert.equal((await failure(client.explain(input))).code, "NOT_FOUND");
  assert.equal(server.asked.length, 1);
});

test("a file that is missed although it was uploaded again is not uploaded for ever", async () => {
  const lost = problem(404, "BLOB_NOT_FOUND", "model.id");
  using server = await answering(UPLOADED, lost, UPLOADED, lost);
  const client = connect(server.url);

  const model = await client.uploadModel(MODEL);
  const error = await failure(client.explain({ model, methods: METHODS }));

  assert.equal(error.reason, "BLOB_NOT_FOUND");
  assert.equal(server.asked.length, 4);
});

test("what exceeds a message is named by its id, the largest file first, and then uploaded", async () => {
  using server = await answering(problem(404, "BLOB_NOT_FOUND", "table.id"), UPLOADED, EXPLAINED);
  const table = new TextEncoder().encode(`a\n${"1\n".repeat(5_000)}`);
  const client = connect(server.url, { messageLimit: 10_000 });

  await client.explain({ model: MODEL, table, methods: METHODS });

  assert.deepEqual(routes(server), [
    "POST /v1/explanations",
    "PUT /v1/tables",
    "POST /v1/explanations",
  ]);
  const digest = createHash("sha256").update(table).digest("hex");
  const first = String(server.asked[0]?.body);
  assert.ok(first.includes(`{"id":"sha256:${digest}"}`));
  assert.ok(first.includes("a model"));
  assert.deepEqual(server.asked[1]?.body, Buffer.from(table));
});

test("a quota is not waited for", async () => {
  using server = await answering(problem(429, "QUOTA_EXCEEDED", "", "3600"), EXPLAINED);

  await assert.rejects(
    connect(server.url).explain({ methods: METHODS }),
    (error: ExplainError) => error.reason === "QUOTA_EXCEEDED" && error.retryAfterMs === 3_600_000,
  );

  assert.equal(server.asked.length, 1);
});

for (const passing of [
  problem(429, "OVERLOADED", "", "0"),
  problem(503, "UNAVAILABLE", "", "0"),
  problem(503, "WORKER_DIED", "", "0"),
  { status: 502, body: "<html>no answer from behind</html>" },
]) {
  test(`HTTP ${passing.status} is asked again: ${JSON.stringify(passing.body)}`, async () => {
    using server = await answering(passing, EXPLAINED);

    await connect(server.url).explain({ methods: METHODS });

    assert.equal(server.asked.length, 2);
  });
}

for (const [status, reason] of [
  [400, "INVALID_OPTION"],
  [413, "TABLE_TOO_LARGE"],
  [500, "INTERNAL"],
] as const) {
  test(`${reason} stays what it is`, async () => {
    using server = await answering(problem(status, reason));

    const error = await failure(connect(server.url).explain({ methods: METHODS }));

    assert.equal(error.reason, reason);
    assert.equal(server.asked.length, 1);
  });
}

test("there are as many attempts as were asked for, and the last error tells", async () => {
  using server = await answering(problem(503, "UNAVAILABLE", "", "0"));

  const error = await failure(connect(server.url, { retries: 2 }).describe(MODEL));

  assert.equal(error.message, "because of UNAVAILABLE");
  assert.equal(error.retryAfterMs, 0);
  assert.equal(server.asked.length, 3);
});

test("no attempt is begun that the time of the call does not reach", async () => {
  using server = await answering(problem(503, "UNAVAILABLE", "", "3600"));

  const error = await failure(connect(server.url, { timeoutMs: 1_800_000 }).describe(MODEL));

  assert.equal(error.retryAfterMs, 3_600_000);
  assert.equal(server.asked.length, 1);
  assert.ok(Number(server.asked[0]?.headers["x-request-timeout-ms"]) <= 1_800_000);
});

test("nobody listening is UNAVAILABLE, and tells where", async () => {
  const server = await answering(EXPLAINED);
  server[Symbol.dispose]();

  const error = await failure(connect(server.url, { retries: 0 }).describe(MODEL));

  assert.equal(error.reason, "UNAVAILABLE");
  assert.match(error.message, new RegExp(`no answer from ${server.url.slice(7)}: .*ECONNREFUSED`));
});

test("a server that is silent is left when the time is over", async () => {
  using server = await answering(undefined);

  const error = await failure(connect(server.url).describe(MODEL, { timeoutMs: 100 }));

  assert.equal(error.reason, "DEADLINE_EXCEEDED");
});

test("a signal ends a call, and a pause, with its reason as the cause", async () => {
  using silent = await answering(undefined);
  using busy = await answering(problem(503, "UNAVAILABLE", "", "3600"));

  for (const { url } of [silent, busy]) {
    const signal = AbortSignal.timeout(100);
    const error = await failure(connect(url).describe(MODEL, { signal }));
    assert.equal(error.reason, "CANCELLED");
    assert.equal(error.cause, signal.reason);
  }
});

test("closing the client ends its calls", async () => {
  using server = await answering(undefined);
  const client = connect(server.url);

  const call = failure(client.describe(MODEL));
  client.close();

  assert.equal((await call).reason, "CANCELLED");
});

test("an answer that is none is an error of the server", async () => {
  using server = await answering({ body: "<html>a portal wants you to sign in</html>" });

  const error = await failure(connect(server.url).describe(MODEL));

  assert.equal(error.reason, "INTERNAL");
  assert.match(error.message, /the answer cannot be read/);
});

test("an answer of a newer server is read as far as it is known", async () => {
  using server = await answering({ body: { model: { digest: "sha256:1", mood: "good" } } });

  assert.equal((await connect(server.url).describe(MODEL)).digest, "sha256:1");
});

test("events are read whatever the parts are in which they come", async () => {
  const body = [
    'event: progress\ndata: {"done": 1.0, "planned": 3.0}\n\n',
    ": a comment\n\n",
    'event: mood\ndata: "good"\n\n',
    'event: progress\r\ndata: {"done": 2.0,\r\ndata: "planned": 3.0}\r\n\r\n',
    'event: response\ndata: {"warnings": [{"code": "A", "message": "ü"}]}\n\n',
  ].join("");
  using server = await answering({ headers: { "Content-Type": "text/event-stream" }, body });
  const progress: [number, number][] = [];
  const onProgress = (...each: [number, number]) => progress.push(each);

  const found = await connect(server.url).explain({ methods: METHODS }, { onProgress });

  assert.deepEqual(progress, [
    [1, 3],
    [2, 3],
  ]);
  assert.equal(found.warnings[0]?.message, "ü");
});

test("progress only rises, though a stream that broke off begins anew", async () => {
  const progress = (done: number) => `event: progress\ndata: {"done": ${done}, "planned": 3}\n\n`;
  const { body } = problem(503, "WORKER_DIED");
  using server = await answering(
    { body: `${progress(2)}event: error\ndata: ${JSON.stringify(body)}\n\n` },
    { body: `${progress(1)}${progress(3)}event: response\ndata: {}\n\n` },
  );
  const done: number[] = [];
  const onProgress = (each: number) => done.push(each);

  await connect(server.url).explain({ methods: METHODS }, { onProgress });

  assert.deepEqual(done, [2, 3]);
});

test("what can be read only once is not sent twice", async () => {
  using server = await answering(problem(503, "UNAVAILABLE", "", "0"), UPLOADED);

  const error = await failure(connect(server.url).uploadModel(new Blob([MODEL]).stream()));

  assert.equal(error.reason, "UNAVAILABLE");
  assert.equal(server.asked.length, 1);
});

test("an error at the end of events is thrown", async () => {
  const { body } = problem(400, "PREDICTION_FAILED", "table");
  const events = { body: `event: error\ndata: ${JSON.stringify(body)}\n\n` };
  using server = await answering(events);

  const stream = connect(server.url).explainStream({ methods: METHODS });
  const error = await failure(stream.next());

  assert.equal(error.code, "FAILED_PRECONDITION");
  assert.equal(error.field, "table");
});

test("a stream that breaks off is no answer", async () => {
  using server = await answering({ body: 'event: progress\ndata: {"done": 1, "planned": 3}\n\n' });
  const onProgress = () => undefined;

  const error = await failure(connect(server.url).explain({ methods: METHODS }, { onProgress }));

  assert.equal(error.message, "the call ended without an answer");
});

test("a reference goes in place of the table, too", async () => {
  using server = await answering(EXPLAINED);

  await connect(server.url).explain({ table: new TableRef(ID), methods: METHODS });

  assert.deepEqual(JSON.parse(String(server.asked[0]?.body)).table, { id: ID });
});
