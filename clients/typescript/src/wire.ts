/** One attempt at each call of the service; every failure is an ExplainError. */

import type { NamedFile } from "./external_data.js";
import type { Operation } from "./gen/google/longrunning/operations_pb.js";
import type {
  CheckModelRequest,
  CheckModelResponse,
  CompareExplanationsRequest,
  CompareExplanationsResponse,
  DescribeModelRequest,
  DescribeModelResponse,
  DescribeTableRequest,
  DescribeTableResponse,
  ExplainRequest,
  ExplainResponse,
  ExplainStreamResponse,
  PredictRequest,
  PredictResponse,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { ExplanationPlan } from "./gen/onnxplain/v1/plan_pb.js";
import type { OperationWire } from "./operations/wire.js";
import type { TableFile } from "./tables.js";
import type { CallOptions } from "./terms.js";

/** Whether a server takes requests. */
export type Health = "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN" | "UNKNOWN";

/** What an explanation that is started is called by. */
export interface Identity {
  /** Name of the request. */
  readonly requestId: string;

  /** For filters. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Messages to a server, by gRPC or by REST. */
export interface Wire {
  /** Calls about operations. */
  readonly operations: OperationWire;

  explain(request: ExplainRequest, call: CallOptions): Promise<ExplainResponse>;

  /** Whoever leaves the loop cancels the computation. */
  explainStream(request: ExplainRequest, call: CallOptions): AsyncIterable<ExplainStreamResponse>;

  plan(request: ExplainRequest, call: CallOptions): Promise<ExplanationPlan>;

  start(request: ExplainRequest, identity: Identity, call: CallOptions): Promise<Operation>;

  describe(request: DescribeModelRequest, call: CallOptions): Promise<DescribeModelResponse>;

  describeTable(request: DescribeTableRequest, call: CallOptions): Promise<DescribeTableResponse>;

  predict(request: PredictRequest, call: CallOptions): Promise<PredictResponse>;

  checkModel(request: CheckModelRequest, call: CallOptions): Promise<CheckModelResponse>;

  compareExplanations(
    request: CompareExplanationsRequest,
    call: CallOptions,
  ): Promise<CompareExplanationsResponse>;

  /** Send a model, in one file or in several, and return its id. */
  uploadModel(files: AsyncIterable<NamedFile>, call: CallOptions): Promise<string>;

  /** Send a file, and return its id. */
  uploadTable(file: TableFile, call: CallOptions): Promise<string>;

  health(call: CallOptions): Promise<Health>;

  /** Let go of the connection; running calls end. */
  close(): void;
}
