/** Which errors are worth another attempt, where no server can be made to answer by them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ExplainError } from "onnxplain";
import { Attempts } from "#internal/retry.js";

function cancelled(message: string): ExplainError {
  return new ExplainError(message, { reason: "CANCELLED", code: "CANCELLED" });
}

test("a call that a closing server cut off without a word is made again", async () => {
  const attempts = new Attempts(1, undefined, undefined);

  await attempts.pause(cancelled("CANCELLED"));

  await assert.rejects(attempts.pause(cancelled("CANCELLED")), ExplainError);
});

test("a call that its caller ended is not made again", async () => {
  const attempts = new Attempts(1, undefined, undefined);

  await assert.rejects(attempts.pause(cancelled("the call was cancelled by its caller")));
});
