/** The calls of the service by fetch, over its REST mapping. */

import { create, type DescMessage, fromJsonString, type MessageShape } from "@bufbuild/protobuf";
import { type Content, describeBody, explainBody, modelBody, tableBody } from "./bodies.js";
import { Deadline } from "./deadline.js";
import { events, type ServerEvent } from "./events.js";
import {
  type DescribeModelRequest,
  type DescribeModelResponse,
  DescribeModelResponseSchema,
  type ExplainRequest,
  type ExplainResponse,
  ExplainResponseSchema,
  type ExplainStreamResponse,
  ExplainStreamResponseSchema,
  PartialExplanationSchema,
  ProgressSchema,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import {
  UploadModelResponseSchema,
  UploadTableResponseSchema,
} from "./gen/onnxplain/v1/upload_pb.js";
import { problemOf, toError } from "./problems.js";
import { collect, read } from "./sources.js";
import type { TableFile } from "./tables.js";
import type { CallOptions } from "./terms.js";
import type { Health, Wire } from "./wire.js";

// Answers of newer servers may say more.
const LENIENT = { ignoreUnknownFields: true };

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";

/** Where a call goes, and what with. */
interface Sent extends Content {
  readonly route: string;
  readonly method: "POST" | "PUT";
  readonly accept: string;
}

/** Messages to a server by REST. */
export class RestWire implements Wire {
  /**
   * @param base address of the server; routes are relative to it
   * @param authorization makes the header of each call
   */
  constructor(
    private readonly base: URL,
    private readonly authorization: (() => Promise<string>) | undefined,
  ) {}

  explain(request: ExplainRequest, call: CallOptions): Promise<ExplainResponse> {
    const sent = post("v1/explanations", explainBody(request));
    return this.asked(sent, ExplainResponseSchema, call);
  }

  async *explainStream(
    request: ExplainRequest,
    call: CallOptions,
  ): AsyncGenerator<ExplainStreamResponse> {
    const sent = { ...post("v1/explanations", explainBody(request)), accept: EVENTS_TYPE };
    const shown = await this.shown();
    const deadline = new Deadline(call, this.base.host);
    try {
      const response = await this.fetched(sent, shown, deadline);
      if (response.body === null) return;
      for await (const event of events(read(response.body))) yield eventOf(event);
    } catch (error) {
      throw deadline.told(error);
    } finally {
      deadline.leave();
    }
  }

  describe(request: DescribeModelRequest, call: CallOptions): Promise<DescribeModelResponse> {
    const sent = post("v1/models:describe", describeBody(request));
    return this.asked(sent, DescribeModelResponseSchema, call);
  }

  async uploadModel(content: AsyncIterable<Uint8Array>, call: CallOptions): Promise<string> {
    const sent = put("v1/models", modelBody(await collect(content)));
    return (await this.asked(sent, UploadModelResponseSchema, call)).id;
  }

  async uploadTable(file: TableFile, call: CallOptions): Promise<string> {
    const sent = put("v1/tables", tableBody(file.format, await collect(file.content)));
    return (await this.asked(sent, UploadTableResponseSchema, call)).id;
  }

  async health(call: CallOptions): Promise<Health> {
    const deadline = new Deadline(call, this.base.host);
    try {
      const response = await fetch(new URL("readyz", this.base), { signal: deadline.signal });
      return response.ok ? "SERVING" : "NOT_SERVING";
    } catch (error) {
      throw deadline.told(error);
    } finally {
      deadline.leave();
    }
  }

  close(): void {
    // Connections are the platform's own; calls are ended by their signals.
  }

  private async asked<Answer extends DescMessage>(
    sent: Sent,
    answer: Answer,
    call: CallOptions,
  ): Promise<MessageShape<Answer>> {
    const shown = await this.shown();
    const deadline = new Deadline(call, this.base.host);
    try {
      const response = await this.fetched(sent, shown, deadline);
      return fromJsonString(answer, await response.text(), LENIENT);
    } catch (error) {
      throw deadline.told(error);
    } finally {
      deadline.leave();
    }
  }

  /** What shows who calls. */
  private async shown(): Promise<Record<string, string>> {
    return this.authorization === undefined ? {} : { Authorization: await this.authorization() };
  }

  private async fetched(
    { route, method, accept, body, type }: Sent,
    shown: Record<string, string>,
    deadline: Deadline,
  ): Promise<Response> {
    const headers = new Headers({ Accept: accept, ...shown, ...deadline.headers });
    if (type !== undefined) headers.set("Content-Type", type);
    const { signal } = deadline;
    const response = await fetch(new URL(route, this.base), { method, headers, body, signal });
    if (!response.ok) throw await problemOf(response);
    return response;
  }
}

function post(route: string, content: Content): Sent {
  return { route, method: "POST", accept: JSON_TYPE, ...content };
}

function put(route: string, content: Content): Sent {
  return { route, method: "PUT", accept: JSON_TYPE, ...content };
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
