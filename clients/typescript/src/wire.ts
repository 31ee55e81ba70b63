/** One attempt at each call of the service; every failure is an ExplainError. */

import type {
  DescribeModelRequest,
  DescribeModelResponse,
  ExplainRequest,
  ExplainResponse,
  ExplainStreamResponse,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { TableFile } from "./tables.js";
import type { CallOptions } from "./terms.js";

/** Whether a server takes requests. */
export type Health = "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN" | "UNKNOWN";

/** Messages to a server, by gRPC or by REST. */
export interface Wire {
  explain(request: ExplainRequest, call: CallOptions): Promise<ExplainResponse>;

  /** Whoever leaves the loop cancels the computation. */
  explainStream(request: ExplainRequest, call: CallOptions): AsyncIterable<ExplainStreamResponse>;

  describe(request: DescribeModelRequest, call: CallOptions): Promise<DescribeModelResponse>;

  /** Send a file, and return its id. */
  uploadModel(content: AsyncIterable<Uint8Array>, call: CallOptions): Promise<string>;

  /** Send a file, and return its id. */
  uploadTable(file: TableFile, call: CallOptions): Promise<string>;

  health(call: CallOptions): Promise<Health>;

  /** Let go of the connection; running calls end. */
  close(): void;
}
