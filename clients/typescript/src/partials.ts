/** Parts of an answer that is not finished. */

import { create } from "@bufbuild/protobuf";
import { Explanations } from "./explanations.js";
import {
  ExplainResponseSchema,
  type PartialExplanation as PartialMessage,
} from "./gen/onnxplain/v1/explanation_service_pb.js";

/** Part of an answer that is not finished; given where the request asks for it by `partial`. */
export interface PartialExplanation {
  /** Index of the explanation in the answer. */
  readonly index: number;

  /** The explanation alone, with its warnings. */
  readonly explanations: Explanations;

  /** Whether the answer will have the same explanation; otherwise it is from some of the rows. */
  readonly isFinal: boolean;
}

/** Read a part as callers see it. */
export function toPartial(message: PartialMessage): PartialExplanation {
  const { index, explanation, warnings, isFinal } = message;
  const alone = create(ExplainResponseSchema, {
    explanations: explanation ? [explanation] : [],
    warnings,
  });
  return { index, explanations: new Explanations(alone), isFinal };
}
