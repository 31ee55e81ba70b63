/** The calls of the service over gRPC, in Node. */

import type { SecureClientSessionOptions } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { type Client as Calls, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { Own, toExplainError } from "./border.js";
import {
  HealthCheckResponse_ServingStatus,
  Health as HealthService,
} from "./gen/grpc/health/v1/health_pb.js";
import {
  type DescribeModelRequest,
  type DescribeModelResponse,
  type ExplainRequest,
  type ExplainResponse,
  type ExplainStreamResponse,
  ExplanationService,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import {
  UploadModelRequestSchema,
  UploadTableRequest_Format,
  UploadTableRequestSchema,
} from "./gen/onnxplain/v1/upload_pb.js";
import { linked } from "./signals.js";
import { cut } from "./sources.js";
import type { Format, TableFile } from "./tables.js";
import type { CallOptions } from "./terms.js";
import type { Health, Wire } from "./wire.js";

// The largest part of a file that the contract allows.
const PART_BYTES = 2 ** 20;

// A peer that vanished without a word shows after a minute, not only at the deadline.
const PINGS = { pingIntervalMs: 60_000, pingTimeoutMs: 20_000 };

// In megabytes. Node.js ends a call whose answer begins while more than its ten are on their way to
// the server, which begins to answer as soon as it has a place; messageLimit bounds a message.
const SESSION = { maxSessionMemory: 2 ** 20 };

const FORMATS: Record<Format, UploadTableRequest_Format> = {
  arrow: UploadTableRequest_Format.ARROW,
  parquet: UploadTableRequest_Format.PARQUET,
  csv: UploadTableRequest_Format.CSV,
};

/** What a GrpcWire is made with. */
export interface GrpcOptions {
  readonly url: URL;
  readonly tls: SecureClientSessionOptions;
  readonly authorization: (() => Promise<string>) | undefined;
  readonly messageLimit: number;
}

/** Messages to a server by gRPC. */
export class GrpcWire implements Wire {
  private readonly session: Http2SessionManager;
  private readonly calls: Calls<typeof ExplanationService>;
  private readonly healthCalls: Calls<typeof HealthService>;
  private readonly endpoint: string;
  private readonly partBytes: number;

  constructor({ url, tls, authorization, messageLimit }: GrpcOptions) {
    this.endpoint = url.host;
    this.partBytes = Math.min(PART_BYTES, Math.floor(messageLimit / 2));
    this.session = new Http2SessionManager(url, PINGS, { ...tls, ...SESSION });
    const transport = createGrpcTransport({
      baseUrl: url.origin,
      sessionManager: this.session,
      readMaxBytes: messageLimit,
      writeMaxBytes: messageLimit,
      interceptors: authorization === undefined ? [] : [shown(authorization)],
    });
    this.calls = createClient(ExplanationService, transport);
    this.healthCalls = createClient(HealthService, transport);
  }

  explain(request: ExplainRequest, call: CallOptions): Promise<ExplainResponse> {
    return this.translated(call, (options) => this.calls.explain(request, options));
  }

  async *explainStream(
    request: ExplainRequest,
    call: CallOptions,
  ): AsyncGenerator<ExplainStreamResponse> {
    // Leaving the loop would not end the call by itself.
    const left = new AbortController();
    const { signal, release } = linked(left.signal, call.signal);
    try {
      yield* this.calls.explainStream({ request }, connectOptions({ ...call, signal }));
    } catch (error) {
      throw toExplainError(error, this.endpoint, call.signal);
    } finally {
      left.abort();
      release();
    }
  }

  describe(request: DescribeModelRequest, call: CallOptions): Promise<DescribeModelResponse> {
    return this.translated(call, (options) => this.calls.describeModel(request, options));
  }

  async uploadModel(content: AsyncIterable<Uint8Array>, call: CallOptions): Promise<string> {
    const parts = messages(content, this.partBytes, (part) =>
      create(UploadModelRequestSchema, { content: part }),
    );
    const answer = await this.translated(call, (options) => this.calls.uploadModel(parts, options));
    return answer.id;
  }

  async uploadTable(file: TableFile, call: CallOptions): Promise<string> {
    const format = FORMATS[file.format];
    const parts = messages(file.content, this.partBytes, (part) =>
      create(UploadTableRequestSchema, { format, content: part }),
    );
    const answer = await this.translated(call, (options) => this.calls.uploadTable(parts, options));
    return answer.id;
  }

  async health(call: CallOptions): Promise<Health> {
    const answer = await this.translated(call, (options) => this.healthCalls.check({}, options));
    return HealthCheckResponse_ServingStatus[answer.status] as Health;
  }

  close(): void {
    this.session.abort();
  }

  private async translated<Answer>(
    call: CallOptions,
    make: (options: ConnectOptions) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await make(connectOptions(call));
    } catch (error) {
      throw toExplainError(error, this.endpoint, call.signal);
    }
  }
}

interface ConnectOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

function connectOptions({ signal, timeoutMs }: CallOptions): ConnectOptions {
  return {
    ...(signal === undefined ? {} : { signal }),
    // Whole, as the protocol has it; 0 would be no time limit in some places, and one in others.
    ...(timeoutMs === undefined ? {} : { timeoutMs: Math.max(1, Math.ceil(timeoutMs)) }),
  };
}

/** Send a token with each call. */
function shown(authorization: () => Promise<string>): Interceptor {
  return (next) => async (request) => {
    const value = await authorization().catch((error: unknown) => Promise.reject(new Own(error)));
    request.header.set("authorization", value);
    return next(request);
  };
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
