/** Plans and operations over both connections, against the server of the environment. */

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  type Client,
  connect,
  ExplainError,
  type ExplainInput,
  type Method,
  ModelRef,
} from "onnxplain";
import { connect as connectRest } from "onnxplain/rest";

const { ONNXPLAIN_ENDPOINT, ONNXPLAIN_URL } = process.env;
const TESTS = new URL("../../../../../tests/", import.meta.url);
const SCORE = new Uint8Array(await readFile(new URL("conformance/files/score.onnx", TESTS)));
const LONG = new Uint8Array(await readFile(new URL("conformance/files/long.csv", TESTS)));
const HALF = new Uint8Array(await readFile(new URL("models/half.onnx", TESTS)));
const METHODS: Method[] = [{ interactions: {} }];
const MESSAGE_BYTES = 2 ** 20;

// Far more than the tests would wait for.
let rowCount = 3_600;

/** A question that takes long, and that no other has asked: what one computed, the server remembers. */
function endless() {
  rowCount += 1;
  return { model: SCORE, table: LONG, rowCount, engine: "BLACK_BOX" as const, methods: METHODS };
}

const CLIENTS: Record<string, (messageLimit?: number) => Client<never>> = {
  gRPC: (messageLimit = 2 ** 26) => connect(ONNXPLAIN_ENDPOINT, { messageLimit }) as Client<never>,
  REST: () => connectRest(ONNXPLAIN_URL),
};

/** An explanation of so many rows. */
function input(rowCount = 40, methods = METHODS): ExplainInput {
  const age = Float64Array.from({ length: rowCount }, (_, i) => i % 7);
  const bmi = Float64Array.from({ length: rowCount }, (_, i) => i % 5);
  return { model: HALF, table: { age, bmi }, featureColumns: ["age", "bmi"], methods };
}

for (const [name, open] of Object.entries(CLIENTS)) {
  test(`${name}: a plan tells rows, time and cheaper options`, async () => {
    const client = open();
    const plan = await client.plan(endless());

    const [method] = plan.methods;
    assert.deepEqual([method?.name, method?.engine], ["interactions", "BLACK_BOX"]);
    assert.ok(plan.predictedRowCount > 1e6, String(plan.predictedRowCount));
    assert.ok((plan.seconds?.low ?? 0) > 0);
    assert.ok((plan.seconds?.high ?? 0) >= (plan.seconds?.low ?? 0));
    const saving = plan.savings.find((each) => each.field === "row_count");
    assert.ok((saving?.timeShare ?? 1) <= 0.5, JSON.stringify(plan.savings));
    client.close();
  });

  test(`${name}: an operation has the answer that the call has`, async () => {
    const client = open();
    const labels = { team: "risk & co", run: randomUUID() };

    const started = await client.start(input(), { labels });
    assert.equal(await started.wait(), true);
    const found = await started.result();
    const direct = await client.explain(input());

    assert.equal(started.state, "SUCCEEDED");
    assert.equal(started.error, undefined);
    assert.deepEqual({ ...started.labels }, labels);
    assert.deepEqual(started.methods, ["interactions"]);
    assert.deepEqual(found.result("interactions"), direct.result("interactions"));
    assert.ok((started.createTime?.getTime() ?? 0) < (started.expireTime?.getTime() ?? 0));
    assert.ok(started.metadata.responseByteCount > 0);
    client.close();
  });

  test(`${name}: progress is told on the way`, async () => {
    const client = open();
    const started = await client.start(endless());

    const seen = await new Promise<[number, number]>((resolve, reject) => {
      const onProgress = (done: number, planned: number) => resolve([done, planned]);
      started.wait({ onProgress }).catch(reject);
    });
    await started.delete();

    assert.ok(seen[0] >= 0 && seen[1] > 1e6, String(seen));
    client.close();
  });

  test(`${name}: an answer larger than a message is read`, async () => {
    const client = open(MESSAGE_BYTES);
    const options = { features: ["age"], curveCount: 10_000, gridSize: 60 };
    const age = Float64Array.from({ length: 10_000 }, Math.random);
    const asked: ExplainInput = {
      model: HALF,
      table: { age, bmi: age },
      featureColumns: ["age", "bmi"],
      methods: [{ individualConditionalExpectation: options }],
      rowCount: 10_000,
      plots: false,
    };

    const started = await client.start(asked);
    const found = await started.result();

    assert.ok(started.metadata.responseByteCount > 3 * 2 ** 20);
    assert.equal(started.message.result.case, undefined);
    const [curves] = found.result("individualConditionalExpectation").curves;
    assert.equal(curves?.rowIndices.length, 10_000);
    client.close();
  });

  test(`${name}: an operation is cancelled, and then forgotten`, async () => {
    const client = open();
    const started = await client.start(endless());
    const early = started.result({ timeoutMs: 0 });
    await assert.rejects(early, { name: "ExplainError", reason: "OPERATION_NOT_DONE" });

    await started.cancel();
    const refused = { name: "ExplainError", reason: "CANCELLED", code: "CANCELLED" };
    await assert.rejects(started.result(), refused);
    assert.equal(started.state, "CANCELLED");
    await started.cancel();
    await started.delete();

    const gone = { name: "ExplainError", reason: "OPERATION_NOT_FOUND", code: "NOT_FOUND" };
    await assert.rejects(started.refresh(), gone);
    await assert.rejects(client.operation(started.name), gone);
    await assert.rejects(started.delete(), gone);
    client.close();
  });

  test(`${name}: an operation that failed has the error of the call`, async () => {
    const client = open();
    const asked = input(40, [{ interactions: { features: ["agee", "bmi"] } }]);

    const started = await client.start(asked);
    const direct = await told(client.explain(asked));
    const found = await told(started.result());

    assert.equal(started.state, "FAILED");
    assert.equal(direct.reason, "UNKNOWN_FEATURE");
    assert.equal(direct.field, "methods[0].interactions.features");
    assert.deepEqual(found, direct);
    client.close();
  });

  test(`${name}: a request id names one operation`, async () => {
    const client = open();
    const requestId = randomUUID();

    const first = await client.start(input(), { requestId });
    const again = await client.start(input(), { requestId });
    const other = client.start(input(41), { requestId });

    assert.equal(again.name, first.name);
    const refused = { reason: "REQUEST_ID_IN_USE", code: "ALREADY_EXISTS", field: "request_id" };
    await assert.rejects(other, refused);
    assert.equal((await client.operation(first.name)).metadata.requestId, requestId);
    client.close();
  });

  test(`${name}: a start uploads what the server lacks`, async () => {
    const client = open();
    // With a description of its own (field 6 of 16 bytes), so that nobody uploaded it.
    const text = new TextEncoder().encode(randomUUID().slice(0, 16));
    const model = new Uint8Array([...HALF, 0x32, 16, ...text]);
    const id = `sha256:${createHash("sha256").update(model).digest("hex")}`;
    const content = async function* () {
      yield model;
    };
    const reference = new ModelRef(id, { repeatable: true, open: content });

    const started = await client.start({ ...input(), model: reference });

    assert.equal((await started.result()).receipt?.modelDigest, id);
    client.close();
  });
}

test("operations of all pages are listed, by both connections alike", async () => {
  const clients = Object.values(CLIENTS).map((open) => open());
  const [grpc, rest] = clients as [Client<never>, Client<never>];
  const run = randomUUID();
  const names: string[] = [];
  // More than a page.
  for (let i = 0; i < 52; i += 1) {
    names.unshift((await grpc.start({ ...input(), seed: i }, { labels: { run } })).name);
  }

  for (const client of clients) {
    assert.deepEqual(await listed(client, `labels.run = "${run}"`), names);
  }

  for await (const each of rest.operations(`labels.run = "${run}"`)) await each.delete();
  assert.deepEqual(await listed(grpc, `labels.run = "${run}"`), []);
  await assert.rejects(rest.operations("colour = red").next(), { field: "filter" });
  for (const client of clients) client.close();
});

async function listed(client: Client<never>, filter: string): Promise<string[]> {
  const names: string[] = [];
  for await (const each of client.operations(filter)) names.push(each.name);
  return names;
}

/** What the error of a call tells. */
async function told(call: Promise<unknown>): Promise<Record<string, unknown>> {
  const error = await call.then(
    () => assert.fail("the call was answered"),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof ExplainError, String(error));
  const { reason, code, field, message } = error;
  return { reason, code, field, message };
}
