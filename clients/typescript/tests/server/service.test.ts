/** The same of both connections, against the server of the environment. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type Client, connect, ExplainError, type Method } from "onnxplain";
import { connect as connectRest } from "onnxplain/rest";

const { ONNXPLAIN_ENDPOINT, ONNXPLAIN_URL, ONNXPLAIN_METRICS = "" } = process.env;
const TESTS = new URL("../../../../../tests/", import.meta.url);
const SCORE = new Uint8Array(await readFile(new URL("conformance/files/score.onnx", TESTS)));
const LONG = new Uint8Array(await readFile(new URL("conformance/files/long.csv", TESTS)));
const HALF = new Uint8Array(await readFile(new URL("models/half.onnx", TESTS)));
const METHODS: Method[] = [{ interactions: {} }];
const PATIENCE_MS = 60_000;

// Far more than the tests would wait for.
let rowCount = 3_700;

/** A question that takes long, and that no other has asked: what one computed, the server remembers. */
function endless() {
  rowCount += 1;
  return { model: SCORE, table: LONG, rowCount, engine: "BLACK_BOX" as const, methods: METHODS };
}

const CLIENTS: Record<string, () => Client<never>> = {
  gRPC: () => connect(ONNXPLAIN_ENDPOINT) as Client<never>,
  REST: () => connectRest(ONNXPLAIN_URL),
};

async function running(): Promise<number> {
  const page = await (await fetch(ONNXPLAIN_METRICS)).text();
  return Number(/^onnxplain_running_requests (\S+)/m.exec(page)?.[1]);
}

async function until(fact: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !(await fact()); await setTimeout(20)) {
    assert.ok(Date.now() < end, "it did not come true");
  }
}

async function* parts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}

function numbers(count: number): Uint8Array {
  return new TextEncoder().encode(`a\n${"1234567\n".repeat(count)}`);
}

for (const [name, open] of Object.entries(CLIENTS)) {
  test(`${name}: the server says that it is up`, async () => {
    const client = open();
    assert.equal(await client.health(), "SERVING");
    client.close();
  });

  test(`${name}: rows, columns and a file of the same table have one answer`, async () => {
    const client = open();
    const age = Float64Array.from({ length: 30 }, (_, i) => i % 7);
    const bmi = Array.from({ length: 30 }, (_, i) => i % 5);
    const rows = bmi.map((value, i) => ({ age: age[i], bmi: value }));
    const csv = `age,bmi\n${rows.map((row) => `${row.age},${row.bmi}`).join("\n")}`;

    const tables = [{ age, bmi }, rows, new TextEncoder().encode(csv)];
    const answers = await Promise.all(
      tables.map((table) => client.explain({ model: HALF, table, methods: METHODS })),
    );

    const [first, ...others] = answers.map((each) => each.result("interactions"));
    assert.ok((first?.overall.length ?? 0) === 2);
    for (const other of others) assert.deepEqual(other, first);
    client.close();
  });

  test(`${name}: pictures are data, and answers are the contract's JSON`, async () => {
    const client = open();

    const table = { age: [1, 2, 3, 4], bmi: [1, 0, 1, 1] };
    const featureColumns = ["age", "bmi"];
    const found = await client.explain({ model: HALF, table, featureColumns, methods: METHODS });

    assert.match(String(found.plot("overall").vegaLite.$schema), /vega-lite\/v6/);
    assert.throws(() => found.plot("mood"), /no plot "mood"; there are: .*overall/);
    assert.throws(() => found.result("firm"), /firm was asked for 0 times, not once/);
    assert.deepEqual(found.toJson().warnings, []);
    client.close();
  });

  test(`${name}: leaving a stream frees the server`, async () => {
    const client = open();
    let seen = 0;
    for await (const event of client.explainStream(endless())) {
      assert.equal(event.type, "progress");
      assert.ok((await running()) > 0);
      if (++seen === 2) break;
    }

    await until(async () => (await running()) === 0);
    client.close();
  });

  test(`${name}: closing the client frees the server`, async () => {
    const client = open();
    const call = client.explain(endless());
    const left = assert.rejects(call, { reason: "CANCELLED", code: "CANCELLED" });
    await until(async () => (await running()) > 0);

    client.close();

    await left;
    await until(async () => (await running()) === 0);
  });

  test(`${name}: an upload in odd parts has the digest of the whole`, async () => {
    const client = open();
    const table = numbers(200_000);

    const { id } = await client.uploadTable(parts(table, 77_777));

    assert.equal(id, `sha256:${createHash("sha256").update(table).digest("hex")}`);
    client.close();
  });

  test(`${name}: a table that is refused on the way tells why`, async () => {
    const client = open();

    await assert.rejects(client.uploadTable(numbers(2_000_000)), (error) => {
      assert.ok(error instanceof ExplainError, String(error));
      assert.deepEqual([error.reason, error.code], ["TABLE_TOO_LARGE", "RESOURCE_EXHAUSTED"]);
      return true;
    });
    client.close();
  });

  test(`${name}: an empty file is sent, and refused`, async () => {
    const client = open();
    const refused = (part: string) => ({
      reason: `INVALID_${part.toUpperCase()}`,
      message: new RegExp(`the ${part} is empty: 0 bytes`),
    });

    await assert.rejects(client.uploadModel(new Uint8Array()), refused("model"));
    await assert.rejects(client.uploadTable(new Uint8Array()), refused("table"));
    client.close();
  });

  test(`${name}: what fails while a file is read is what is thrown`, async () => {
    const client = open();
    const fault = new Error("the disk is on fire");
    const broken = (async function* () {
      yield* parts(numbers(300_000), 100_000);
      throw fault;
    })();

    await assert.rejects(client.uploadTable(broken), fault);
    client.close();
  });
}
