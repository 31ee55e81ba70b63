/** What holds for every call to a server. */

import { Attempts } from "./retry.js";

/** What a call may be given. */
export interface CallOptions {
  /** Ends the call, and the computation on the server with it. */
  readonly signal?: AbortSignal | undefined;

  /** Milliseconds for the call with its pauses and uploads. Default: the client's. */
  readonly timeoutMs?: number | undefined;
}

/** A bearer token, or what gives the one of the moment; asked before each call. */
export type Token = string | (() => string | Promise<string>);

/** What both ways to connect take. */
export interface ConnectOptions {
  /** Shows who calls. Sent over an unencrypted connection to this machine only. */
  readonly token?: Token;

  /** Sends the token although nothing is encrypted here, as in a mesh that encrypts on the way. */
  readonly allowUnencryptedToken?: boolean;

  /** Milliseconds for each call that names no other. Default: the server's limit. */
  readonly timeoutMs?: number;

  /**
   * How often a call is made again where nobody answers, or where the server says that it has
   * too much to do; with growing pauses, within the time of the call. Default 10: 6 to 13 s,
   * in which the only server can be restarted.
   */
  readonly retries?: number;

  /**
   * Bytes that a request or an answer may have. Models and tables beyond it are uploaded by
   * themselves. Default 64 MiB, as the server's.
   */
  readonly messageLimit?: number;
}

/** `ConnectOptions` with every default filled in. */
export class Terms {
  readonly messageLimit: number;
  private readonly timeoutMs: number | undefined;
  private readonly retries: number;

  constructor(options: ConnectOptions) {
    this.messageLimit = options.messageLimit ?? 64 * 2 ** 20;
    this.timeoutMs = options.timeoutMs;
    this.retries = options.retries ?? 10;
  }

  /** Begin a call. */
  attempts(call: CallOptions): Attempts {
    return new Attempts(this.retries, call.timeoutMs ?? this.timeoutMs, call.signal);
  }
}
