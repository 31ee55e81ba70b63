import assert from "node:assert/strict";
import { test } from "node:test";
import { v1 } from "onnxplain/rest";
import { costOf, sumOf } from "../src/common/plans";
import { EMPTY, type Question } from "../src/common/question";
import { tablesOfChanges } from "../src/compare/change_tables";
import { keyOf, sidesOf } from "../src/compare/sides";

const { IMPORTANCE, IMPORTANCE_SQUARE } = v1.ReplicatedStatistic_Kind;
const { CHANGED, NOT_TESTED } = v1.ExplanationComparison_Verdict;

function difference(kind: v1.ReplicatedStatistic_Kind, feature: string, adjustedPValue: number) {
  const verdict = Number.isNaN(adjustedPValue) ? NOT_TESTED : CHANGED;
  const numbers = { referenceValue: 1, value: 3, difference: 2, lower: 1.5, upper: 2.5 };
  const about = { kind, features: [feature, "b"], group: "", outputName: "price" };
  return { ...about, ...numbers, adjustedPValue, verdict };
}

test("numbers stand with the surest change first, and what is not tested last", () => {
  const comparison = {
    differences: [
      difference(IMPORTANCE, "untested", Number.NaN),
      difference(IMPORTANCE_SQUARE, "unsure", 0.04),
      difference(IMPORTANCE, "sure", 1e-9),
    ],
    options: { confidenceLevel: 0.95 },
    rankings: [],
    unmatched: [
      { kind: IMPORTANCE, features: ["c"], group: "", outputName: "price", reason: "why" },
      { kind: IMPORTANCE, features: ["c"], group: "", outputName: "price", reason: "why" },
      { kind: 0, features: [], group: "", outputName: "cost", reason: "no such output" },
    ],
  } as unknown as v1.ExplanationComparison;
  const [numbers, unmatched] = tablesOfChanges(comparison);
  assert.deepEqual(
    numbers?.rows.map(([name, , , , , , , verdict]) => [name, verdict]),
    [
      ["importance of sure × b for price", "changed"],
      ["importance, as a mean square, of unsure × b for price", "changed"],
      ["importance of untested × b for price", "not tested"],
    ],
  );
  assert.deepEqual(unmatched?.rows, [
    ["importance of c in price", "why"],
    ["output of cost", "no such output"],
  ]);
});

function content(value: string) {
  return { kind: "uri", value, name: "" } as const;
}

test("what is compared is another model, another table, or both, and nothing else", () => {
  const question: Question = { ...EMPTY, model: content("m"), table: content("t"), target: "y" };
  const of = (model?: string, table?: string) =>
    sidesOf({
      question,
      other: {
        model: model ? content(model) : undefined,
        table: table ? content(table) : undefined,
      },
    });
  assert.equal(of(), undefined);
  assert.equal(of("m", "t"), undefined);
  const sides = of("n", "t");
  assert.deepEqual(sides?.after, { ...question, model: content("n") });
  assert.deepEqual([sides?.hasOtherModel, sides?.hasOtherTable], [true, false]);
  assert.deepEqual(of("m", "u")?.after, { ...question, table: content("u") });
  for (const change of [{ target: "" }, { output: "a" }, { weight: "w" }, { features: ["f"] }]) {
    assert.notEqual(keyOf({ ...question, ...change }), keyOf(question));
  }
});

test("two computations take the time and the predictions of both", () => {
  const plan = { seconds: { low: 2, high: 20 }, predictedRowCount: 1_000, cachedRowCount: 0 };
  const both = sumOf({ ...plan, methods: [] }, { ...plan, predictedRowCount: 234, methods: [] });
  const told = "takes 4 s to 40 s and asks the models for 1,234 predictions";
  assert.equal(costOf(both, "the models"), told);
});
