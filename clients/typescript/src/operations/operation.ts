/** Operations: explanations that a server computes and keeps, whether or not the client waits. */

import { create } from "@bufbuild/protobuf";
import { anyUnpack, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { errorOfStatus } from "../details.js";
import type { ExplainError } from "../errors.js";
import { Explanations } from "../explanations.js";
import type { Operation as OperationMessage } from "../gen/google/longrunning/operations_pb.js";
import { ExplainResponseSchema } from "../gen/onnxplain/v1/explanation_service_pb.js";
import {
  type OperationMetadata,
  OperationMetadata_State,
  OperationMetadataSchema,
} from "../gen/onnxplain/v1/operations_pb.js";
import type { ExplanationPlan } from "../gen/onnxplain/v1/plan_pb.js";
import { type PartialExplanation, toPartial } from "../partials.js";
import type { ProgressCallback } from "../progress.js";
import { sleep } from "../retry.js";
import type { CallOptions } from "../terms.js";
import type { OperationCalls } from "./calls.js";

// The wait of one call: progress is told as often.
const STEP_MS = 1_000;

// After a wait that the server ended at once.
const PAUSE_MS = 200;

const NAME = /^operations\/[A-Za-z0-9_-]+$/;

/** Names of the states of an operation. */
export type OperationState = Exclude<keyof typeof OperationMetadata_State, "STATE_UNSPECIFIED">;

/** How far a computation is. */
export interface Progress {
  /** Rows predicted or found in the cache. */
  readonly done: number;

  /** Rows planned: an upper bound; 0 where it is not known yet. */
  readonly planned: number;
}

/** Options of `Operation.wait` and `Operation.result`. */
export interface WaitOptions {
  /** Ends the wait, not the operation. */
  readonly signal?: AbortSignal | undefined;

  /** Milliseconds to wait. Default: until the end. */
  readonly timeoutMs?: number | undefined;

  /**
   * Told about once a second how many rows are predicted, of how many at most. They may fall when
   * another server takes the operation over.
   */
  readonly onProgress?: ProgressCallback | undefined;
}

/**
 * An explanation that a server computes and keeps, as it was when last asked for; from
 * `Client.start`, `operation` and `operations`.
 *
 * @example
 * ```ts
 * const operation = await client.start({ model, table, methods: [{ interactions: {} }] });
 * await operation.wait({ onProgress: (done, planned) => console.log(done / planned) });
 * console.log((await operation.result()).result("interactions").total?.values);
 * ```
 */
export class Operation {
  private latest: OperationMessage;
  private latestMetadata: OperationMetadata;

  /**
   * @param message the operation as it came
   * @param calls about it
   */
  constructor(
    message: OperationMessage,
    private readonly calls: OperationCalls,
  ) {
    this.latest = message;
    this.latestMetadata = metadataOf(message);
  }

  /** The operation as it came. */
  get message(): OperationMessage {
    return this.latest;
  }

  /** All that the server tells about it. */
  get metadata(): OperationMetadata {
    return this.latestMetadata;
  }

  /** What `Client.operation` finds it by: "operations/" and an id. */
  get name(): string {
    return this.message.name;
  }

  /** One of PENDING, RUNNING, SUCCEEDED, FAILED and CANCELLED. */
  get state(): OperationState {
    return OperationMetadata_State[this.metadata.state] as OperationState;
  }

  /** True once it has ended. */
  get isDone(): boolean {
    return this.message.done;
  }

  /** Rows done and planned, as of some seconds before. */
  get progress(): Progress {
    const { done = 0, planned = 0 } = this.metadata.progress ?? {};
    return { done, planned };
  }

  /** What one that FAILED or was CANCELLED ended by. */
  get error(): ExplainError | undefined {
    const { result } = this.message;
    return result.case === "error" ? errorOfStatus(result.value) : undefined;
  }

  /** What it takes, as planned when its computation began; undefined before, and in lists. */
  get plan(): ExplanationPlan | undefined {
    return this.metadata.plan;
  }

  /** Labels that it was started with. */
  get labels(): Readonly<Record<string, string>> {
    return this.metadata.labels;
  }

  /** Names of its methods, as in `v1.MethodOptions`; empty for an overview. */
  get methods(): readonly string[] {
    return this.metadata.methods;
  }

  /** When it was started. */
  get createTime(): Date | undefined {
    return dateOf(this.metadata.createTime);
  }

  /** When the server forgets it. */
  get expireTime(): Date | undefined {
    return dateOf(this.metadata.expireTime);
  }

  /**
   * Ask for the current state, and return this operation.
   *
   * @example
   * ```ts
   * console.log((await operation.refresh()).state);
   * ```
   */
  async refresh(options: CallOptions = {}): Promise<this> {
    this.take(await this.calls.get(this.name, options));
    return this;
  }

  /**
   * Wait for the end; return whether it has come.
   *
   * @example
   * ```ts
   * if (!(await operation.wait({ timeoutMs: 3_600_000 }))) await operation.cancel();
   * ```
   */
  async wait(options: WaitOptions = {}): Promise<boolean> {
    const { signal, timeoutMs = Number.POSITIVE_INFINITY, onProgress } = options;
    const end = performance.now() + timeoutMs;
    for (;;) {
      const start = performance.now();
      const stepMs = Math.min(STEP_MS, Math.max(0, end - start));
      this.take(await this.calls.wait(this.name, stepMs, { signal }));
      const { done, planned } = this.progress;
      if (planned > 0) onProgress?.(done, planned);
      if (this.isDone || performance.now() >= end) return this.isDone;
      if (performance.now() - start < stepMs) await sleep(Math.min(stepMs, PAUSE_MS), signal);
    }
  }

  /**
   * Wait for the end, and return the answer, however large.
   *
   * @throws ExplainError of one that FAILED or was CANCELLED; OPERATION_NOT_DONE after `timeoutMs`
   *
   * @example
   * ```ts
   * const found = await (await client.operation(name)).result();
   * ```
   */
  async result(options: WaitOptions = {}): Promise<Explanations> {
    if (!this.isDone) await this.wait(options);
    const { error } = this;
    if (error !== undefined) throw error;
    const { signal } = options;
    return new Explanations(this.inline() ?? (await this.calls.read(this.name, { signal })));
  }

  /**
   * What is finished so far of one whose request asks for it by `partial`: the latest part of each
   * method, in their order.
   *
   * @example
   * ```ts
   * for (const { explanations, isFinal } of await operation.partials()) {
   *   console.log(isFinal, explanations.result("interactions").total?.values);
   * }
   * ```
   */
  async partials(options: CallOptions = {}): Promise<PartialExplanation[]> {
    return (await this.calls.partials(this.name, options)).map(toPartial);
  }

  /**
   * Ask the server to end it; `wait` for the end. Nothing happens if it has ended.
   *
   * @example
   * ```ts
   * await operation.cancel();
   * ```
   */
  cancel(options: CallOptions = {}): Promise<void> {
    return this.calls.cancel(this.name, options);
  }

  /**
   * Have the server forget it with its answer, and end it if it runs.
   *
   * @example
   * ```ts
   * for await (const operation of client.operations("done = true")) await operation.delete();
   * ```
   */
  delete(options: CallOptions = {}): Promise<void> {
    return this.calls.delete(this.name, options);
  }

  private take(message: OperationMessage): void {
    this.latest = message;
    this.latestMetadata = metadataOf(message);
  }

  /** The answer that came with the operation; undefined if it must be read. */
  private inline() {
    const { result } = this.message;
    return result.case === "response" ? anyUnpack(result.value, ExplainResponseSchema) : undefined;
  }
}

/**
 * Return the name of an operation.
 *
 * @throws TypeError where it is none
 */
export function checkedName(name: string): string {
  if (NAME.test(name)) return name;
  throw new TypeError(`the name of an operation is "operations/" and its id, not "${name}"`);
}

function metadataOf({ metadata }: OperationMessage): OperationMetadata {
  const found = metadata && anyUnpack(metadata, OperationMetadataSchema);
  return found ?? create(OperationMetadataSchema);
}

function dateOf(time: Timestamp | undefined): Date | undefined {
  return time && timestampDate(time);
}
