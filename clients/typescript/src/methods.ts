/** The methods: their options, and their results. */

import type {
  Explanation as ExplanationMessage,
  MethodOptionsJson,
} from "./gen/onnxplain/v1/explanation_service_pb.js";

/** Names of the methods, like "interactions". */
export type MethodName = keyof MethodOptionsJson;

/**
 * One method with its options, under its name; as in the contract's JSON.
 *
 * @example
 * ```ts
 * const methods: Method[] = [
 *   { interactions: { pairwiseFeatureCount: 3 } },
 *   { partialDependence: { features: [{ names: ["age"] }, { names: ["age", "bmi"] }] } },
 *   { permutationImportance: { loss: "ABSOLUTE_ERROR" } },
 * ];
 * ```
 */
export type Method = {
  [Name in MethodName]-?: { [Key in Name]: NonNullable<MethodOptionsJson[Name]> };
}[MethodName];

/** The result of a method. */
export type ResultOf<Name extends MethodName> = Extract<
  ExplanationMessage["result"],
  { case: Name }
>["value"];
