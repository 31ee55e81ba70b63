import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf } from "../src/start/kinds";

const named = (...names: string[]) => names.map((name) => ({ name }));

test("of files dropped together, each field takes its own", () => {
  const files = named("rows.csv", "weights.json", "model.onnx", "other.onnx");
  assert.deepEqual(filesOf("model", files), named("model.onnx", "weights.json"));
  assert.deepEqual(filesOf("table", files), named("rows.csv"));
});

test("a native tree file is a model where there is no ONNX file", () => {
  assert.deepEqual(filesOf("model", named("rows.csv", "trees.UBJ")), named("trees.UBJ"));
  assert.deepEqual(filesOf("model", named("rows.csv", "trees.txt")), named("trees.txt"));
});
