import assert from "node:assert/strict";
import { test } from "node:test";
import { type Explanation, v1 } from "onnxplain/rest";
import { aroundList, doubtsOf, remarksOf } from "../src/common/warnings";
import { isNumber, sectionsOf } from "../src/explore/sections";

function loss(outputNames: string[], groups: string[]): Explanation {
  const value = { outputNames, losses: groups.map((group) => ({ group })) };
  const message = { result: { case: "averageLoss", value } };
  return { method: "averageLoss", message } as unknown as Explanation;
}

function of(method: string): Explanation {
  return { method, message: { result: { case: method } } } as unknown as Explanation;
}

test("what matters stands first, and losses of all rows share the last section", () => {
  const all = [
    loss(["y"], [""]),
    loss(["a", "b"], [""]),
    of("swarm"),
    loss(["y"], ["north", "south"]),
    of("interactions"),
    of("partialDependence"),
    of("permutationImportance"),
  ];
  const sections = sectionsOf(all);
  assert.deepEqual(
    sections.map((section) => section.map((each) => all.indexOf(each))),
    [[6], [5], [4], [2], [3], [0, 1]],
  );
  assert.deepEqual(all.map(isNumber), [true, false, false, false, false, false, false]);
});

test("warnings that tell how an answer was made, or what was found, are no doubts", () => {
  const { DOUBT, HOW_IT_WAS_MADE, SENTENCE, KIND_UNSPECIFIED } = v1.Warning_Kind;
  const all = [DOUBT, HOW_IT_WAS_MADE, SENTENCE, KIND_UNSPECIFIED].map((kind) => ({ kind }));
  assert.deepEqual(doubtsOf(all), [{ kind: DOUBT }, { kind: KIND_UNSPECIFIED }]);
  assert.deepEqual(remarksOf(all), [{ kind: HOW_IT_WAS_MADE }]);
});

test("a long list behind a colon is folded, and no sentence is", () => {
  const columns = Array.from({ length: 40 }, (_, place) => `${place} 'x${place}'`).join(", ");
  const all = `In the model's order: ${columns}. Name them.`;
  assert.deepEqual(aroundList(all), ["In the model's order:", columns, "Name them."]);
  const sentence = "The model is no better: R² of y 0, of the constant 0. ".repeat(9);
  for (const text of ["In their order: 1 'a', 2 'b'.", columns, sentence]) {
    assert.deepEqual(aroundList(text), [text, "", ""]);
  }
});
