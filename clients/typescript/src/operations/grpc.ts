/** The calls about operations over gRPC. */

import { fromBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Client as Calls } from "@connectrpc/connect";
import type { Connection } from "../connection.js";
import {
  type ListOperationsResponse,
  type Operation,
  Operations as OperationService,
} from "../gen/google/longrunning/operations_pb.js";
import {
  type ExplainResponse,
  ExplainResponseSchema,
  ExplanationService,
  type PartialExplanation,
} from "../gen/onnxplain/v1/explanation_service_pb.js";
import { joined } from "../sources.js";
import type { CallOptions } from "../terms.js";
import type { OperationWire } from "./wire.js";

// Answers of up to 3 MiB come with their operation, larger ones in parts of 1 MiB.
const READ_BYTES = 4 * 2 ** 20;

/** Messages about operations by gRPC. */
export class GrpcOperations implements OperationWire {
  private readonly calls: Calls<typeof OperationService>;
  private readonly service: Calls<typeof ExplanationService>;

  constructor(
    private readonly connection: Connection,
    messageLimit: number,
  ) {
    const readBytes = Math.max(READ_BYTES, messageLimit);
    this.calls = connection.calls(OperationService, readBytes);
    this.service = connection.calls(ExplanationService, readBytes);
  }

  get(name: string, call: CallOptions): Promise<Operation> {
    return this.connection.unary(call, (options) => this.calls.getOperation({ name }, options));
  }

  list(filter: string, pageToken: string, call: CallOptions): Promise<ListOperationsResponse> {
    const request = { name: "operations", filter, pageToken };
    return this.connection.unary(call, (options) => this.calls.listOperations(request, options));
  }

  wait(name: string, ms: number, call: CallOptions): Promise<Operation> {
    const request = { name, timeout: durationFromMs(Math.round(ms)) };
    return this.connection.unary(call, (options) => this.calls.waitOperation(request, options));
  }

  async cancel(name: string, call: CallOptions): Promise<void> {
    await this.connection.unary(call, (options) => this.calls.cancelOperation({ name }, options));
  }

  async delete(name: string, call: CallOptions): Promise<void> {
    await this.connection.unary(call, (options) => this.calls.deleteOperation({ name }, options));
  }

  async read(name: string, arrived: Uint8Array[], call: CallOptions): Promise<ExplainResponse> {
    const offset = arrived.reduce((sum, part) => sum + part.length, 0);
    const parts = this.connection.stream(call, (options) =>
      this.service.readExplanation({ name, offset }, options),
    );
    for await (const { content } of parts) arrived.push(content);
    return fromBinary(ExplainResponseSchema, joined(arrived));
  }

  async partials(name: string, call: CallOptions): Promise<PartialExplanation[]> {
    const partials: PartialExplanation[] = [];
    const stream = this.connection.stream(call, (options) =>
      this.service.readPartialExplanations({ name }, options),
    );
    for await (const partial of stream) partials.push(partial);
    return partials;
  }
}
