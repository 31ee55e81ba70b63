import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, fromHash, NO_OTHER, type Place, toHash } from "../src/common/question";

const HOSTILE = "</script>&a=b?c#d/e f\u202e%";

test("an address holds the question and the place", () => {
  const place: Place = {
    room: "explore",
    path: ["features", HOSTILE, "b/c"],
    operation: "operations/5f0c9e",
    other: {
      model: { kind: "uri", value: "s3://models/a?b#c", name: HOSTILE },
      table: { kind: "id", value: `sha256:${"0b".repeat(32)}`, name: "" },
    },
    question: {
      model: { kind: "id", value: `sha256:${"0a".repeat(32)}`, name: HOSTILE },
      table: { kind: "uri", value: "s3://lake/rows?x=1", name: "" },
      target: HOSTILE,
      weight: "w",
      features: ["a", HOSTILE],
      output: "b",
      seconds: 5,
    },
  };
  assert.deepEqual(fromHash(toHash(place)), place);
});

test("what an address does not tell is empty", () => {
  const nothing = { path: [], operation: "", question: EMPTY, other: NO_OTHER };
  assert.deepEqual(fromHash(""), { room: "start", ...nothing });
});

test("an address of another hand is read as far as it makes sense", () => {
  const place = fromHash("#/nowhere/%E0%A4%A?seconds=-1&target=t");
  assert.equal(place.room, "start");
  assert.equal(place.question.seconds, EMPTY.seconds);
  assert.equal(place.question.target, "t");
});
