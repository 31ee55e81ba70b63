import assert from "node:assert/strict";
import { test } from "node:test";
import { ExplainError } from "onnxplain/rest";
import { patient, token, waiting } from "../src/common/asking";

const REFUSAL = new ExplainError("the token has expired", {
  reason: "UNAUTHENTICATED",
  code: "UNAUTHENTICATED",
});

/** A server that takes one token, and counts what it is asked. */
function guarded(right: string) {
  const asked: string[] = [];
  const check = () => {
    asked.push(token.peek().text);
    if (token.peek().text !== right) throw REFUSAL;
  };
  const operation = {
    name: "operations/1",
    async wait(_: object) {
      check();
      return true;
    },
  };
  const calls = {
    async describe(name: string, _: object = {}) {
      check();
      return `described ${name}`;
    },
    async start(_: object, options: object) {
      assert.ok(!("signal" in options));
      check();
      return operation;
    },
    async *explainStream(_: object, __: object) {
      check();
      yield 1;
      yield 2;
    },
    async fail() {
      throw new TypeError("of its own");
    },
  };
  return { asked, client: patient(() => calls) };
}

async function all<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const found: Event[] = [];
  for await (const event of events) found.push(event);
  return found;
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("a refused call goes on with the next token that the server takes, and waits for it", async () => {
  const { asked, client } = guarded("right");
  token.value = { text: "old" };
  const described = client.describe("a model");
  await settled();
  assert.equal(waiting.value[0]?.error, REFUSAL);
  token.value = { text: "wrong" };
  await settled();
  assert.deepEqual(asked, ["old", "wrong"]);
  assert.equal(waiting.value.length, 1);
  token.value = { text: "right" };
  assert.equal(await described, "described a model");
  assert.deepEqual(asked, ["old", "wrong", "right"]);
  assert.deepEqual(waiting.value, []);
});

test("a token that is given again is shown again", async () => {
  const { asked, client } = guarded("right");
  token.value = { text: "wrong" };
  const described = client.describe("a model");
  await settled();
  token.value = { text: "wrong" };
  await settled();
  assert.deepEqual(asked, ["wrong", "wrong"]);
  token.value = { text: "right" };
  await described;
});

test("a call that was on its way with the former token needs no further one", async () => {
  const { asked, client } = guarded("right");
  token.value = { text: "old" };
  const described = client.describe("a model");
  token.value = { text: "right" };
  assert.equal(await described, "described a model");
  assert.deepEqual(asked, ["old", "right"]);
});

test("streams and operations go on likewise", async () => {
  const { client } = guarded("right");
  const { signal } = new AbortController();
  token.value = { text: "old" };
  const events = all(client.explainStream({}, { signal }));
  const started = client.start({}, { signal, labels: {} });
  await settled();
  assert.equal(waiting.value.length, 2);
  token.value = { text: "right" };
  assert.deepEqual(await events, [1, 2]);
  const operation = await started;
  assert.equal(operation.name, "operations/1");

  token.value = { text: "old" };
  const waited = operation.wait({});
  await settled();
  token.value = { text: "right" };
  assert.equal(await waited, true);
});

test("who ends a call ends its wait, and other errors are told at once", async () => {
  const { client } = guarded("right");
  const ending = new AbortController();
  token.value = { text: "old" };
  const refused = [
    client.describe("a model", { signal: ending.signal }),
    client.start({}, { signal: ending.signal }),
  ];
  await settled();
  ending.abort(new Error("left"));
  for (const each of refused) await assert.rejects(each, /left/);
  assert.deepEqual(waiting.value, []);
  await assert.rejects(client.fail(), TypeError);
});
