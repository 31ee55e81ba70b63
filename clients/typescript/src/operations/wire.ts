/** One attempt at each call about operations; every failure is an ExplainError. */

import type { ListOperationsResponse, Operation } from "../gen/google/longrunning/operations_pb.js";
import type {
  ExplainResponse,
  PartialExplanation,
} from "../gen/onnxplain/v1/explanation_service_pb.js";
import type { CallOptions } from "../terms.js";

/** Messages about operations to a server, by gRPC or by REST. */
export interface OperationWire {
  get(name: string, call: CallOptions): Promise<Operation>;

  /** A page of operations, without their responses. */
  list(filter: string, pageToken: string, call: CallOptions): Promise<ListOperationsResponse>;

  /** The operation as soon as it ends, or after some milliseconds, or sooner. */
  wait(name: string, ms: number, call: CallOptions): Promise<Operation>;

  cancel(name: string, call: CallOptions): Promise<void>;

  delete(name: string, call: CallOptions): Promise<void>;

  /**
   * The answer of an operation, however large.
   *
   * @param arrived keeps the parts that came, for the next attempt to go on behind them
   */
  read(name: string, arrived: Uint8Array[], call: CallOptions): Promise<ExplainResponse>;

  /** What is finished so far. */
  partials(name: string, call: CallOptions): Promise<PartialExplanation[]>;
}
