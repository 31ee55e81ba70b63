/** The calls of the service over gRPC, in Node. */

import { create } from "@bufbuild/protobuf";
import type { Client as Calls } from "@connectrpc/connect";
import { Own } from "./border.js";
import { Connection, type GrpcOptions } from "./connection.js";
import type { NamedFile } from "./external_data.js";
import type { Operation } from "./gen/google/longrunning/operations_pb.js";
import {
  HealthCheckResponse_ServingStatus,
  Health as HealthService,
} from "./gen/grpc/health/v1/health_pb.js";
import {
  type CheckModelRequest,
  type CheckModelResponse,
  type CompareExplanationsRequest,
  type CompareExplanationsResponse,
  type DescribeModelRequest,
  type DescribeModelResponse,
  type DescribeTableRequest,
  type DescribeTableResponse,
  type ExplainRequest,
  type ExplainResponse,
  type ExplainStreamResponse,
  ExplanationService,
  type PredictRequest,
  type PredictResponse,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { ExplanationPlan } from "./gen/onnxplain/v1/plan_pb.js";
import {
  type UploadModelRequest,
  UploadModelRequestSchema,
  UploadTableRequest_Format,
  UploadTableRequestSchema,
} from "./gen/onnxplain/v1/upload_pb.js";
import { GrpcOperations } from "./operations/grpc.js";
import { cut } from "./sources.js";
import type { Format, TableFile } from "./tables.js";
import type { CallOptions } from "./terms.js";
import type { Health, Identity, Wire } from "./wire.js";

// The largest part of a file that the contract allows.
const PART_BYTES = 2 ** 20;

const FORMATS: Record<Format, UploadTableRequest_Format> = {
  arrow: UploadTableRequest_Format.ARROW,
  parquet: UploadTableRequest_Format.PARQUET,
  csv: UploadTableRequest_Format.CSV,
};

/** Messages to a server by gRPC. */
export class GrpcWire implements Wire {
  readonly operations: GrpcOperations;
  private readonly connection: Connection;
  private readonly calls: Calls<typeof ExplanationService>;
  private readonly healthCalls: Calls<typeof HealthService>;
  private readonly partBytes: number;

  constructor(options: GrpcOptions) {
    this.connection = new Connection(options);
    this.partBytes = Math.min(PART_BYTES, Math.floor(options.messageLimit / 2));
    this.calls = this.connection.calls(ExplanationService);
    this.healthCalls = this.connection.calls(HealthService);
    this.operations = new GrpcOperations(this.connection, options.messageLimit);
  }

  explain(request: ExplainRequest, call: CallOptions): Promise<ExplainResponse> {
    return this.connection.unary(call, (options) => this.calls.explain(request, options));
  }

  explainStream(request: ExplainRequest, call: CallOptions): AsyncGenerator<ExplainStreamResponse> {
    return this.connection.stream(call, (options) =>
      this.calls.explainStream({ request }, options),
    );
  }

  plan(request: ExplainRequest, call: CallOptions): Promise<ExplanationPlan> {
    return this.connection.unary(call, (options) => this.calls.planExplanation(request, options));
  }

  start(request: ExplainRequest, identity: Identity, call: CallOptions): Promise<Operation> {
    const message = { request, requestId: identity.requestId, labels: { ...identity.labels } };
    return this.connection.unary(call, (options) => this.calls.startExplanation(message, options));
  }

  describe(request: DescribeModelRequest, call: CallOptions): Promise<DescribeModelResponse> {
    return this.connection.unary(call, (options) => this.calls.describeModel(request, options));
  }

  describeTable(request: DescribeTableRequest, call: CallOptions): Promise<DescribeTableResponse> {
    return this.connection.unary(call, (options) => this.calls.describeTable(request, options));
  }

  predict(request: PredictRequest, call: CallOptions): Promise<PredictResponse> {
    return this.connection.unary(call, (options) => this.calls.predict(request, options));
  }

  checkModel(request: CheckModelRequest, call: CallOptions): Promise<CheckModelResponse> {
    return this.connection.unary(call, (options) => this.calls.checkModel(request, options));
  }

  compareExplanations(
    request: CompareExplanationsRequest,
    call: CallOptions,
  ): Promise<CompareExplanationsResponse> {
    return this.connection.unary(call, (options) =>
      this.calls.compareExplanations(request, options),
    );
  }

  async uploadModel(files: AsyncIterable<NamedFile>, call: CallOptions): Promise<string> {
    const parts = modelMessages(files, this.partBytes);
    const send = this.connection.unary(call, (options) => this.calls.uploadModel(parts, options));
    return (await send).id;
  }

  async uploadTable(file: TableFile, call: CallOptions): Promise<string> {
    const format = FORMATS[file.format];
    const parts = messages(file.content, this.partBytes, (part) =>
      create(UploadTableRequestSchema, { format, content: part }),
    );
    const send = this.connection.unary(call, (options) => this.calls.uploadTable(parts, options));
    return (await send).id;
  }

  async health(call: CallOptions): Promise<Health> {
    const check = this.connection.unary(call, (options) => this.healthCalls.check({}, options));
    return HealthCheckResponse_ServingStatus[(await check).status] as Health;
  }

  close(): void {
    this.connection.close();
  }
}

/** Cut the files of a model into messages. */
async function* modelMessages(
  files: AsyncIterable<NamedFile>,
  size: number,
): AsyncGenerator<UploadModelRequest> {
  try {
    for await (const { name, content } of files) {
      yield* messages(content, size, (part) =>
        create(UploadModelRequestSchema, { content: part, file: name }),
      );
    }
  } catch (error) {
    throw error instanceof Own ? error : new Own(error);
  }
}

/** Cut a file into messages. */
async function* messages<Message>(
  content: AsyncIterable<Uint8Array>,
  size: number,
  toMessage: (part: Uint8Array<ArrayBuffer>) => Message,
): AsyncGenerator<Message> {
  try {
    for await (const part of cut(content, size)) yield toMessage(part);
  } catch (error) {
    throw new Own(error);
  }
}
