import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "onnxplain/rest";
import { tablesOf } from "../src/explore/tables";
import { sentenceOf } from "../src/row/sentence";

const COLUMNS = [
  { name: "rooms", numbers: [7, 3], strings: [] },
  { name: "town", numbers: [], strings: ["Ely", "Rye"] },
  { name: "age", numbers: [40, 50], strings: [] },
];

/** Attributions of the first rows to rooms and to the group of town and age. */
function attributions(rowCount: number, value: object = {}, asked: object = {}): Explanation {
  const result = {
    outputNames: ["price"],
    features: [{ names: ["rooms"] }, { names: ["town", "age"] }],
    rowIndices: Array.from({ length: rowCount }, (_, row) => 10 * row),
    explainedRowCount: rowCount,
    values: [1, -2, 3, 0.5],
    standardErrors: [],
    meanAbsoluteValues: [2, 1.25],
    meanAbsoluteStandardErrors: [0.1, 0.2],
    featureValues: COLUMNS,
    ...value,
  };
  const options = { method: { case: "attributions", value: asked } };
  const message = { result: { case: "attributions", value: result }, options };
  return { method: "attributions", message } as unknown as Explanation;
}

test("few rows have their values and parts in a table, the largest parts of each row first", () => {
  const [parts, ...others] = tablesOf(attributions(2));
  assert.deepEqual(others, []);
  assert.deepEqual(parts?.columns, ["Features", "Row", "Its value", "Part"]);
  assert.deepEqual(parts?.rows, [
    ["town × age", 0, "Ely; 40", -2],
    ["rooms", 0, 7, 1],
    ["rooms", 10, 3, 3],
    ["town × age", 10, "Rye; 50", 0.5],
  ]);
  assert.deepEqual(parts?.features[0], ["town", "age"]);
});

test("rows given by their values are counted from 0", () => {
  const [parts] = tablesOf(attributions(2, { rowIndices: [] }));
  assert.deepEqual(
    parts?.rows.map((cells) => cells[1]),
    [0, 0, 1, 1],
  );
});

test("several outputs and estimates have their columns", () => {
  const value = { outputNames: ["low", "high"], standardErrors: [0.1, 0.2, 0.3, 0.4] };
  const [parts] = tablesOf(attributions(1, value));
  assert.deepEqual(parts?.columns, [
    "Features",
    "Output",
    "Row",
    "Its value",
    "Part",
    "Standard error",
  ]);
  assert.deepEqual(parts?.rows[0], ["town × age", "low", 0, "Ely; 40", 3, 0.3]);
});

test("many rows have mean sizes in a table", () => {
  const [sizes] = tablesOf(attributions(7, {}, { explainedRowCount: 7 }));
  assert.equal(sizes?.note, "Over 7 rows, by their weights, in the unit of the output.");
  assert.deepEqual(sizes?.rows, [
    ["rooms", 2, 0.1],
    ["town × age", 1.25, 0.2],
  ]);
});

test("mean sizes of rows that were named have no error of a draw", () => {
  const [sizes] = tablesOf(attributions(7));
  assert.deepEqual(sizes?.columns, ["Features", "Mean absolute value"]);
});

test("a row has its own sentence of a summary", () => {
  const summary = ["m.onnx predicts y.", "Row 1,234 has a prediction of 5, mostly by a = 1 (+2)."];
  assert.equal(sentenceOf(summary, 1_234), summary[1]);
  assert.equal(sentenceOf(summary, 1), "");
  const given = "The given row has a prediction of 5, mostly by a = 1 (+2).";
  assert.equal(sentenceOf([...summary, given], undefined), given);
});
