/** What a client sends about operations, and what it makes of answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { equals } from "@bufbuild/protobuf";
import { type Client, connect, ExplainError, v1 } from "onnxplain";
import { connect as connectRest } from "onnxplain/rest";
import { type Answer, answering } from "./answering.js";
import { ANSWER, keeping } from "./keeping.js";

const METHODS = [{ interactions: {} }];
const TYPE = "type.googleapis.com/";

function operation(
  state: string,
  rest: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): Answer {
  const any = { "@type": `${TYPE}onnxplain.v1.OperationMetadata`, state, ...metadata };
  return { body: { name: "operations/1f", metadata: any, ...rest } };
}

function routes(server: { asked: { route: string }[] }): string[] {
  return server.asked.map((each) => each.route);
}

test("gRPC: an operation is started, awaited and read, behind the part before a failure", async () => {
  using server = await keeping();
  const client = connect(server.endpoint);
  const options = { requestId: "nightly", labels: { team: "risk" } };

  const started = await client.start({ methods: METHODS }, options);
  const told: number[] = [];
  assert.equal(await started.wait({ onProgress: (done) => told.push(done) }), true);
  const found = await started.result();

  assert.deepEqual(told, [1, 2, 3]);
  assert.ok(equals(v1.ExplainResponseSchema, found.message, ANSWER));
  const read = "read operations/1";
  assert.deepEqual(server.asked, ['start nightly {"team":"risk"}', read, read]);
  assert.equal(started.plan?.predictedRowCount, 8);
  client.close();
});

test("gRPC: an operation that failed has its error", async () => {
  using server = await keeping(true);
  const client = connect(server.endpoint);

  const found = await client.operation("operations/1");
  assert.ok(!found.isDone);

  const told = { reason: "MISSING_COLUMN", code: "INVALID_ARGUMENT", field: "table" };
  await assert.rejects(found.result(), { name: "ExplainError", message: "no x", ...told });
  assert.ok(found.error instanceof ExplainError);
  client.close();
});

test("gRPC: operations of all pages are listed, cancelled and deleted", async () => {
  using server = await keeping();
  const client = connect(server.endpoint);

  for await (const each of client.operations("done = false")) {
    await each.cancel();
    await each.delete();
  }

  const one = ["cancel operations/1", "delete operations/1"];
  const list = "list operations done = false";
  assert.deepEqual(server.asked, [`${list} `, ...one, `${list} next`, ...one]);
  client.close();
});

test("gRPC: what is finished so far", async () => {
  using server = await keeping();
  const client = connect(server.endpoint);

  await partialIsRead(client);

  assert.deepEqual(server.asked, ["partials operations/1"]);
  client.close();
});

test("REST: what is finished so far", async () => {
  const partial = { index: 1, explanation: { firm: {} }, warnings: [{ code: "FEW_ROWS" }] };
  using server = await answering(operation("RUNNING"), { body: { partials: [partial] } });

  await partialIsRead(connectRest(server.url));

  assert.deepEqual(routes(server), ["GET /v1/operations/1", "GET /v1/operations/1f/partials"]);
});

async function partialIsRead(client: Client<never>): Promise<void> {
  const partials = await (await client.operation("operations/1")).partials();
  const [first] = partials;

  assert.equal(partials.length, 1);
  assert.deepEqual([first?.index, first?.isFinal], [1, false]);
  assert.equal(first?.explanations.all[0]?.method, "firm");
  assert.equal(first?.explanations.warnings[0]?.code, "FEW_ROWS");
}

test("REST: a start tells request id and labels", async () => {
  using server = await answering(operation("PENDING"));
  const labels = { team: "a&b", run: "1=2" };

  const started = await connectRest(server.url).start({ methods: METHODS }, { labels });

  const { pathname, searchParams } = new URL(server.asked[0]?.route.slice(5) ?? "", server.url);
  assert.equal(pathname, "/v1/explanations:start");
  assert.match(searchParams.get("request_id") ?? "", /^[0-9a-f]{32}$/);
  assert.deepEqual(searchParams.getAll("label"), ["team=a&b", "run=1=2"]);
  assert.deepEqual(JSON.parse(String(server.asked[0]?.body)), { methods: METHODS });
  assert.deepEqual([started.name, started.state], ["operations/1f", "PENDING"]);
  assert.deepEqual([started.isDone, started.progress], [false, { done: 0, planned: 0 }]);
});

test("REST: what a newer server tells besides is no fault", async () => {
  const plan = { predictedRowCount: 7, mood: "good" };
  using server = await answering(operation("RUNNING", { colour: 1 }, { plan, partialCount: 2 }));

  const found = await connectRest(server.url).operation("operations/1f");

  assert.equal(found.plan?.predictedRowCount, 7);
  assert.equal(found.metadata.partialCount, 2);
});

test("REST: the error of an operation has its details", async () => {
  const details = [
    { "@type": `${TYPE}google.rpc.ErrorInfo`, reason: "OVERLOADED", domain: "onnxplain" },
    { "@type": `${TYPE}google.rpc.RetryInfo`, retryDelay: "2.5s" },
  ];
  const error = { code: 8, message: "too much to do", details };
  using server = await answering(operation("FAILED", { done: true, error }));

  const found = await connectRest(server.url).operation("operations/1f");

  const told = { reason: "OVERLOADED", code: "RESOURCE_EXHAUSTED", field: "", retryAfterMs: 2_500 };
  await assert.rejects(found.result(), {
    name: "ExplainError",
    message: "too much to do",
    ...told,
  });
  assert.equal(server.asked.length, 1);
});

test("REST: a wait ends with its time, and asks for no more than that", async () => {
  using server = await answering(operation("RUNNING"));
  const found = await connectRest(server.url).operation("operations/1f");

  assert.equal(await found.wait({ timeoutMs: 0 }), false);

  assert.deepEqual(routes(server), ["GET /v1/operations/1f", "GET /v1/operations/1f?wait=0.000s"]);
});

test("REST: who leaves a wait ends it, and not the operation", async () => {
  using server = await answering(operation("RUNNING"), operation("RUNNING"), undefined);
  const found = await connectRest(server.url).operation("operations/1f");
  const leaving = new AbortController();
  const left = found.wait({ signal: leaving.signal, timeoutMs: 600_000 });

  leaving.abort();

  await assert.rejects(left, { name: "ExplainError", code: "CANCELLED" });
  assert.ok(routes(server).every((route) => route.startsWith("GET ")));
});

test("a plan is the contract's message", async () => {
  const body = { predictedRowCount: 1e12, remainingQuota: { processorSeconds: 5 } };
  using server = await answering({ body });

  const plan = await connectRest(server.url).plan({ methods: METHODS });

  assert.deepEqual(routes(server), ["POST /v1/explanations:plan"]);
  assert.equal(plan.predictedRowCount, 1e12);
  assert.equal(plan.remainingQuota?.processorSeconds, 5);
  assert.equal(plan.remainingQuota?.predictedRowCount, undefined);
});

for (const name of ["", "1f", "operations/", "operations/..", "operations/1/result"]) {
  test(`"${name}" is no name of an operation`, async () => {
    using server = await answering(operation("RUNNING"));

    const refused = { name: "TypeError", message: /is "operations\/" and its id/ };
    await assert.rejects(connectRest(server.url).operation(name), refused);
    assert.deepEqual(server.asked, []);
  });
}

test("an answer alone has no parts", async () => {
  using server = await answering(operation("RUNNING"));
  const input = { methods: METHODS, partial: true };

  const refused = { name: "TypeError", message: /only explainStream and start give/ };
  await assert.rejects(connectRest(server.url).explain(input), refused);
  assert.deepEqual(server.asked, []);
});
