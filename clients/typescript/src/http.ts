/** The calls of the service by fetch, over its REST mapping. */

import { create, fromJsonString } from "@bufbuild/protobuf";
import { bodyWithTable, type Content, describeBody, modelBody, tableBody } from "./bodies.js";
import type { ServerEvent } from "./events.js";
import type { NamedFile } from "./external_data.js";
import { type Fetching, LENIENT, type Sent } from "./fetching.js";
import { type Operation, OperationSchema } from "./gen/google/longrunning/operations_pb.js";
import {
  type CheckModelRequest,
  CheckModelRequestSchema,
  type CheckModelResponse,
  CheckModelResponseSchema,
  type CompareExplanationsRequest,
  CompareExplanationsRequestSchema,
  type CompareExplanationsResponse,
  CompareExplanationsResponseSchema,
  type DescribeModelRequest,
  type DescribeModelResponse,
  DescribeModelResponseSchema,
  type DescribeTableRequest,
  DescribeTableRequestSchema,
  type DescribeTableResponse,
  DescribeTableResponseSchema,
  type ExplainRequest,
  ExplainRequestSchema,
  type ExplainResponse,
  ExplainResponseSchema,
  type ExplainStreamResponse,
  ExplainStreamResponseSchema,
  PartialExplanationSchema,
  type PredictRequest,
  PredictRequestSchema,
  type PredictResponse,
  PredictResponseSchema,
  ProgressSchema,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import { type ExplanationPlan, ExplanationPlanSchema } from "./gen/onnxplain/v1/plan_pb.js";
import {
  UploadModelResponseSchema,
  UploadTableResponseSchema,
} from "./gen/onnxplain/v1/upload_pb.js";
import { RestOperations } from "./operations/rest.js";
import { toError } from "./problems.js";
import { collect } from "./sources.js";
import type { TableFile } from "./tables.js";
import type { CallOptions } from "./terms.js";
import type { Health, Identity, Wire } from "./wire.js";

/** Messages to a server by REST. */
export class RestWire implements Wire {
  readonly operations: RestOperations;

  constructor(private readonly calls: Fetching) {
    this.operations = new RestOperations(calls);
  }

  explain(request: ExplainRequest, call: CallOptions): Promise<ExplainResponse> {
    const sent = post("v1/explanations", bodyWithTable(ExplainRequestSchema, request));
    return this.calls.message(sent, ExplainResponseSchema, call);
  }

  explainStream(request: ExplainRequest, call: CallOptions): AsyncGenerator<ExplainStreamResponse> {
    return this.calls.events(
      post("v1/explanations", bodyWithTable(ExplainRequestSchema, request)),
      call,
      eventOf,
    );
  }

  plan(request: ExplainRequest, call: CallOptions): Promise<ExplanationPlan> {
    const sent = post("v1/explanations:plan", bodyWithTable(ExplainRequestSchema, request));
    return this.calls.message(sent, ExplanationPlanSchema, call);
  }

  start(
    request: ExplainRequest,
    { requestId, labels }: Identity,
    call: CallOptions,
  ): Promise<Operation> {
    const query = new URLSearchParams({ request_id: requestId });
    for (const [key, value] of Object.entries(labels)) query.append("label", `${key}=${value}`);
    const sent = post(
      `v1/explanations:start?${query}`,
      bodyWithTable(ExplainRequestSchema, request),
    );
    return this.calls.message(sent, OperationSchema, call);
  }

  describe(request: DescribeModelRequest, call: CallOptions): Promise<DescribeModelResponse> {
    const sent = post("v1/models:describe", describeBody(request));
    return this.calls.message(sent, DescribeModelResponseSchema, call);
  }

  describeTable(request: DescribeTableRequest, call: CallOptions): Promise<DescribeTableResponse> {
    const sent = post("v1/tables:describe", bodyWithTable(DescribeTableRequestSchema, request));
    return this.calls.message(sent, DescribeTableResponseSchema, call);
  }

  predict(request: PredictRequest, call: CallOptions): Promise<PredictResponse> {
    const sent = post("v1/predictions", bodyWithTable(PredictRequestSchema, request));
    return this.calls.message(sent, PredictResponseSchema, call);
  }

  checkModel(request: CheckModelRequest, call: CallOptions): Promise<CheckModelResponse> {
    const sent = post("v1/models:check", bodyWithTable(CheckModelRequestSchema, request));
    return this.calls.message(sent, CheckModelResponseSchema, call);
  }

  compareExplanations(
    request: CompareExplanationsRequest,
    call: CallOptions,
  ): Promise<CompareExplanationsResponse> {
    const sent = post("v1/comparisons", bodyWithTable(CompareExplanationsRequestSchema, request));
    return this.calls.message(sent, CompareExplanationsResponseSchema, call);
  }

  async uploadModel(files: AsyncIterable<NamedFile>, call: CallOptions): Promise<string> {
    let model: Uint8Array | undefined;
    const beside: { name: string; content: Uint8Array }[] = [];
    for await (const { name, content } of files) {
      const collected = await collect(content);
      if (model === undefined) model = collected;
      else beside.push({ name, content: collected });
    }
    const sent = put("v1/models", modelBody(model ?? new Uint8Array(), beside));
    return (await this.calls.message(sent, UploadModelResponseSchema, call)).id;
  }

  async uploadTable(file: TableFile, call: CallOptions): Promise<string> {
    const sent = put("v1/tables", tableBody(file.format, await collect(file.content)));
    return (await this.calls.message(sent, UploadTableResponseSchema, call)).id;
  }

  async health(call: CallOptions): Promise<Health> {
    return (await this.calls.isOk("readyz", call)) ? "SERVING" : "NOT_SERVING";
  }

  close(): void {
    // Connections are the platform's own; calls are ended by their signals.
  }
}

function post(route: string, content: Content): Sent {
  return { route, method: "POST", ...content };
}

function put(route: string, content: Content): Sent {
  return { route, method: "PUT", ...content };
}

function eventOf({ event, data }: ServerEvent): ExplainStreamResponse {
  switch (event) {
    case "response": {
      const value = fromJsonString(ExplainResponseSchema, data, LENIENT);
      return create(ExplainStreamResponseSchema, { event: { case: "response", value } });
    }
    case "progress": {
      const value = fromJsonString(ProgressSchema, data, LENIENT);
      return create(ExplainStreamResponseSchema, { event: { case: "progress", value } });
    }
    case "partial": {
      const value = fromJsonString(PartialExplanationSchema, data, LENIENT);
      return create(ExplainStreamResponseSchema, { event: { case: "partial", value } });
    }
    case "error":
      throw toError(data, 500);
    default:
      return create(ExplainStreamResponseSchema);
  }
}
