/** What both entries have. */

export type { Client, ExplainOptions, StartOptions } from "./client.js";
export { ExplainError } from "./errors.js";
export type { Explanation, Explanations, Plot } from "./explanations.js";
export { ModelFiles } from "./external_data.js";
export * as v1 from "./gen/v1.js";
export type { ModelInput, TableInput } from "./inputs.js";
export type { Method, MethodName, ResultOf } from "./methods.js";
export type { Operation, OperationState, Progress, WaitOptions } from "./operations/operation.js";
export type { PartialExplanation } from "./partials.js";
export type { ExplainEvent, ProgressCallback } from "./progress.js";
export type { Code, Reason } from "./reasons.js";
export { ModelRef, TableRef } from "./references.js";
export { RemoteModel, type RemoteModelOptions, type RemoteProtocol } from "./remotes.js";
export type {
  CheckModelInput,
  DescribeTableInput,
  ExplainInput,
  PredictInput,
} from "./requests.js";
export type { Bytes } from "./sources.js";
export type { Cell, Columns, NumberArray, Rows } from "./tables.js";
export type { CallOptions, ConnectOptions, Token } from "./terms.js";
export { ModelUri, TableUris } from "./uris.js";
export type { Health } from "./wire.js";
