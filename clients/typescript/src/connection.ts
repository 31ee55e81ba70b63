/** A connection of gRPC: how its calls are made, and how they fail. */

import type { SecureClientSessionOptions } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import { type Client as Calls, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { Own, toExplainError } from "./border.js";
import { linked } from "./signals.js";
import type { CallOptions } from "./terms.js";

// A peer that vanished without a word shows after a minute, not only at the deadline.
const PINGS = { pingIntervalMs: 60_000, pingTimeoutMs: 20_000 };

// In megabytes. Node.js ends a call whose answer begins while more than its ten are on their way to
// the server, which begins to answer as soon as it has a place; messageLimit bounds a message.
const SESSION = { maxSessionMemory: 2 ** 20 };

/** What a Connection is made with. */
export interface GrpcOptions {
  readonly url: URL;
  readonly tls: SecureClientSessionOptions;
  readonly authorization: (() => Promise<string>) | undefined;
  readonly messageLimit: number;
}

/** What a call of Connect takes. */
export interface ConnectCallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** Makes calls of several services over one connection. */
export class Connection {
  private readonly session: Http2SessionManager;
  private readonly endpoint: string;

  constructor(private readonly options: GrpcOptions) {
    this.endpoint = options.url.host;
    this.session = new Http2SessionManager(options.url, PINGS, { ...options.tls, ...SESSION });
  }

  /**
   * The calls of a service.
   *
   * @param readBytes that a message of an answer may have
   */
  calls<Service extends DescService>(
    service: Service,
    readBytes = this.options.messageLimit,
  ): Calls<Service> {
    const { url, authorization, messageLimit } = this.options;
    const transport = createGrpcTransport({
      baseUrl: url.origin,
      sessionManager: this.session,
      readMaxBytes: readBytes,
      writeMaxBytes: messageLimit,
      interceptors: authorization === undefined ? [] : [shown(authorization)],
    });
    return createClient(service, transport);
  }

  /** Make a call that has one answer; its failure is an ExplainError. */
  async unary<Answer>(
    call: CallOptions,
    make: (options: ConnectCallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await make(toConnect(call));
    } catch (error) {
      throw toExplainError(error, this.endpoint, call.signal);
    }
  }

  /** Make a call that has many, likewise; whoever leaves the loop ends the call. */
  async *stream<Event>(
    call: CallOptions,
    make: (options: ConnectCallOptions) => AsyncIterable<Event>,
  ): AsyncGenerator<Event> {
    // Leaving the loop would not end the call by itself.
    const left = new AbortController();
    const { signal, release } = linked(left.signal, call.signal);
    try {
      yield* make(toConnect({ ...call, signal }));
    } catch (error) {
      throw toExplainError(error, this.endpoint, call.signal);
    } finally {
      left.abort();
      release();
    }
  }

  /** Let go of the connection; running calls end. */
  close(): void {
    this.session.abort();
  }
}

function toConnect({ signal, timeoutMs }: CallOptions): ConnectCallOptions {
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
