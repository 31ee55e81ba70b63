import assert from "node:assert/strict";
import { test } from "node:test";
import type { v1 } from "onnxplain/rest";
import { costOf, isAtOnce, methodsOf } from "../src/common/plans";

type Method = Partial<v1.MethodPlan>;

function planOf(predictedRowCount: number, cachedRowCount: number, ...methods: Method[]) {
  const seconds = { low: 2, high: 90 };
  return { seconds, predictedRowCount, cachedRowCount, methods } as unknown as v1.ExplanationPlan;
}

const TREES = { name: "interactions", engine: "TREES", isExact: true, rowCount: 1_000 };
const EXACT = { name: "partial_dependence", engine: "BLACK_BOX", isExact: true, rowCount: 500 };
const BOUND = { ...EXACT, isExact: false };

test("a plan tells how many predictions it needs, and whether it knows that exactly", () => {
  const start = "takes 2 s to 2 min and asks the model for ";
  assert.equal(costOf(planOf(12_345, 9, TREES, EXACT)), `${start}12,345 predictions`);
  assert.equal(costOf(planOf(12_345, 0, TREES, BOUND)), `${start}at most 12,345 predictions`);
});

test("a plan that predicts nothing tells why", () => {
  assert.match(
    costOf(planOf(0, 0, TREES)) ?? "",
    /and sums over the model's trees in place of predictions$/,
  );
  assert.match(costOf(planOf(0, 7, EXACT)) ?? "", /and finds all predictions in the cache$/);
  assert.match(costOf(planOf(0, 0, { name: "average_loss" })) ?? "", /and needs no predictions$/);
});

test("a plan names the rows of the table that each method uses, if any", () => {
  const told = methodsOf(planOf(0, 0, TREES, EXACT, { name: "average_loss", rowCount: 0 }));
  assert.equal(told, "interactions on 1,000 rows, partial dependence on 500 rows, average loss");
});

test("what predicts nothing and takes seconds needs no question", () => {
  const planOfTime = (high: number) => ({ ...planOf(0, 0, TREES), seconds: { low: 1, high } });
  assert.ok(isAtOnce(planOfTime(10) as v1.ExplanationPlan));
  assert.ok(!isAtOnce(planOfTime(60) as v1.ExplanationPlan));
  assert.ok(!isAtOnce({ ...planOfTime(1), predictedRowCount: 1 } as v1.ExplanationPlan));
  const { seconds: _, ...untimed } = planOf(0, 0, TREES);
  assert.ok(!isAtOnce(untimed as v1.ExplanationPlan));
});
