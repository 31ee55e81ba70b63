/** Tables of many kinds become files. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { tableFromIPC } from "@uwdata/flechette";
import { connect, type TableInput } from "onnxplain/rest";
import { type Asked, answering } from "./answering.js";

async function sent(table: TableInput): Promise<Asked> {
  using server = await answering({ body: { id: "sha256:1" } });
  await connect(server.url).uploadTable(table);
  return server.asked[0] as Asked;
}

async function columns(table: TableInput): Promise<Record<string, unknown>> {
  const { headers, body } = await sent(table);
  assert.equal(headers["content-type"], "application/vnd.apache.arrow.stream");
  const read = tableFromIPC(body, { useBigInt: true });
  return Object.fromEntries(read.names.map((name) => [name, [...(read.getChild(name) ?? [])]]));
}

async function* dribbled(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}

const CSV = Buffer.from("a,b\n1,2\n");
const ARROW = Buffer.from("ARROW1 and more");
const STREAM = Buffer.from([255, 255, 255, 255, 1, 2, 3]);
const PARQUET = Buffer.from("PAR1 and more");

for (const [file, type] of [
  [CSV, "text/csv"],
  [ARROW, "application/vnd.apache.arrow.stream"],
  [STREAM, "application/vnd.apache.arrow.stream"],
  [PARQUET, "application/vnd.apache.parquet"],
  [Buffer.from(""), "text/csv"],
] as const) {
  const forms: Record<string, TableInput> = {
    bytes: file,
    "an array buffer": new Uint8Array(file).buffer,
    "a blob": new Blob([file]),
    "parts of one byte": dribbled(file, 1),
    gzip: gzipSync(file),
    "gzip in parts": dribbled(gzipSync(file), 3),
  };
  for (const [name, form] of Object.entries(forms)) {
    test(`"${file.toString("latin1").slice(0, 6)}" is ${type} from ${name}`, async () => {
      const { headers, body } = await sent(form);

      assert.equal(headers["content-type"], type);
      assert.deepEqual(body, file);
    });
  }
}

test("rows become columns, with what is missing", async () => {
  const rows = [
    { age: 19, sex: "f", smoker: true, count: 2n ** 53n + 1n },
    { age: null, sex: undefined, smoker: false, count: 2n },
    { age: Number.NaN, sex: "m", smoker: null, count: 3n },
  ];

  const found = await columns(rows);

  assert.deepEqual(found.age, [19, null, Number.NaN]);
  assert.deepEqual(found.sex, ["f", null, "m"]);
  assert.deepEqual(found.smoker, [true, false, null]);
  assert.deepEqual(found.count, [2n ** 53n + 1n, 2n, 3n]);
});

test("columns may be arrays of any kind", async () => {
  const given = { a: [1, 2], b: Float32Array.of(0.5, 1.5), c: Int32Array.of(-1, 2), d: ["x", ""] };

  const found = await columns(given);

  assert.deepEqual(found, { a: [1, 2], b: [0.5, 1.5], c: [-1, 2], d: ["x", ""] });
});

for (const [fault, table, message] of [
  ["numbers beside text", { age: [1, "two"] }, /column "age" mixes number and string/],
  ["objects", { age: [{}] as never[] }, /column "age" has values that are neither/],
  ["unequal lengths", { a: [1], b: [1, 2] }, /columns differ in length: 1, 2/],
  ["a row without a column", [{ a: 1 }, { b: 1 }], /row 1 and row 0 differ in column "a"/],
  ["a row with one more", [{ a: 1 }, { a: 1, b: 1 }], /row 1 and row 0 differ in column "b"/],
  ["a path in a page", "rows.csv" as never, /cannot read a file from string: give bytes/],
  ["gzip that is cut off", gzipSync(CSV).subarray(0, 15), /begins like a gzip file, but is broken/],
] as const) {
  test(`a table of ${fault} is refused`, async () => {
    await assert.rejects(sent(table as TableInput), { name: "TypeError", message });
  });
}
