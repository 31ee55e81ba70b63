/** The client: one method per call of the service. */

import { create, fromJson } from "@bufbuild/protobuf";
import { ExplainError } from "./errors.js";
import { Explanations } from "./explanations.js";
import {
  type DescribeModelRequest,
  DescribeModelRequestSchema,
  type ExplainRequest,
  type ExplainRequestJson,
  ExplainRequestSchema,
  type ExplainResponse,
  type ExplainStreamResponse,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { ModelDescription } from "./gen/onnxplain/v1/model_pb.js";
import { type ModelInput, type TableInput, tableSource, toModel, toTable } from "./inputs.js";
import type { Method } from "./methods.js";
import { fitted, type Kind, missing, type Request, rename, type Sources } from "./parcel.js";
import { ModelRef, TableRef } from "./references.js";
import type { Attempts } from "./retry.js";
import { linked } from "./signals.js";
import { type Opener, peek, type Source, sourceOf } from "./sources.js";
import { opened } from "./tables.js";
import type { CallOptions, Terms } from "./terms.js";
import type { Health, Wire } from "./wire.js";

/**
 * What to explain, on which rows, and how. Besides model, table and methods these are the
 * options of the contract's ExplainRequest, by its names in JSON.
 */
export interface ExplainInput<Path = never>
  extends Omit<ExplainRequestJson, "model" | "table" | "methods"> {
  /** Left out for sequences that bring weights. */
  readonly model?: ModelInput<Path> | undefined;

  /** Left out for methods that need none. */
  readonly table?: TableInput<Path> | undefined;

  /** At least one; they share the rows and the predictions. */
  readonly methods: readonly Method[];
}

/** Options of `Client.explain`. */
export interface ExplainOptions extends CallOptions {
  /** Told how many rows are predicted, of how many at most. */
  readonly onProgress?: ((done: number, planned: number) => void) | undefined;
}

/** What `Client.explainStream` gives: progress on the way, the explanations at the end. */
export type ExplainEvent =
  | { readonly type: "progress"; readonly done: number; readonly planned: number }
  | { readonly type: "explanations"; readonly explanations: Explanations };

/**
 * Explains models; calls can run side by side. `connect` makes one.
 *
 * Whatever a call meets is an ExplainError. What cannot be read here, before anything is sent,
 * is a TypeError, or the file system's error.
 */
export class Client<Path = never> {
  private readonly closing = new AbortController();

  /**
   * @param wire closed with the client
   * @param terms what holds for every call
   * @param opener opens files by `Path`
   */
  constructor(
    private readonly wire: Wire,
    private readonly terms: Terms,
    private readonly opener: Opener,
  ) {}

  /**
   * Let go of the connection; running calls end.
   *
   * @example
   * ```ts
   * process.on("SIGTERM", () => client.close());
   * ```
   */
  close(): void {
    this.closing.abort();
    this.wire.close();
  }

  /**
   * Explain a model on the rows of a table.
   *
   * @example
   * ```ts
   * const found = await client.explain(
   *   {
   *     model: "model.onnx",
   *     table: [{ age: 19, bmi: 27.9, charges: 16884.9 }, { age: 33, bmi: 22.7, charges: 21984.5 }],
   *     methods: [{ interactions: { pairwiseFeatureCount: 3 } }, { permutationImportance: {} }],
   *     targetColumn: "charges",
   *   },
   *   { timeoutMs: 60_000, signal: AbortSignal.timeout(30_000) },
   * );
   * ```
   */
  async explain(input: ExplainInput<Path>, options: ExplainOptions = {}): Promise<Explanations> {
    const { onProgress, ...call } = options;
    const [request, sources] = await this.request(input);
    const ask = (fit: ExplainRequest, left: CallOptions) =>
      onProgress ? this.followed(fit, left, onProgress) : this.wire.explain(fit, left);
    return this.during(call, async (attempts) => {
      return new Explanations(await this.deliver(request, sources, attempts, ask));
    });
  }

  /**
   * Explain a model, with progress on the way. Leaving the loop early cancels the computation.
   * What breaks after the first event is not tried again.
   *
   * @example
   * ```ts
   * for await (const event of client.explainStream({ model, table, methods })) {
   *   if (event.type === "progress") console.log(event.done / event.planned);
   *   else console.log(event.explanations.result("interactions").total?.values);
   * }
   * ```
   */
  async *explainStream(
    input: ExplainInput<Path>,
    options: CallOptions = {},
  ): AsyncGenerator<ExplainEvent, void, undefined> {
    const [request, sources] = await this.request(input);
    const begin = async (fit: ExplainRequest, left: CallOptions): Promise<Begun> => {
      const events = this.wire.explainStream(fit, left)[Symbol.asyncIterator]();
      return { events, first: await events.next() };
    };
    const { attempts, release } = this.begun(options);
    try {
      yield* told(await this.deliver(request, sources, attempts, begin));
    } finally {
      release();
    }
  }

  /**
   * Tell what a model takes and gives.
   *
   * @example
   * ```ts
   * (await client.describe("model.onnx")).outputNames; // ["setosa", "versicolor", "virginica"]
   * ```
   */
  async describe(model: ModelInput<Path>, options: CallOptions = {}): Promise<ModelDescription> {
    const input = await toModel(model, this.opener);
    const request = create(DescribeModelRequestSchema, { model: input.message });
    const ask = (fit: DescribeModelRequest, left: CallOptions) => this.wire.describe(fit, left);
    return this.during(options, async (attempts) => {
      const answer = await this.deliver(request, { model: input.source }, attempts, ask);
      return answer.model ?? noAnswer();
    });
  }

  /**
   * Have the server keep a model, so that later calls need not send it.
   *
   * What it returns goes in place of the model, and can read the file again: where the server
   * has the model no longer, the call uploads it anew. From an async iterable, which can be read
   * only once, it cannot.
   *
   * @example
   * ```ts
   * const model = await client.uploadModel("model.onnx");
   * await client.explain({ model, table, methods: [{ interactions: {} }] });
   * ```
   */
  async uploadModel(model: ModelInput<Path>, options: CallOptions = {}): Promise<ModelRef> {
    if (model instanceof ModelRef) return model;
    const source = sourceOf(model, this.opener);
    const id = await this.during(options, (each) => this.upload("model", source, each));
    return source.repeatable ? new ModelRef(id, source) : new ModelRef(id);
  }

  /**
   * Have the server keep a table, likewise.
   *
   * @example
   * ```ts
   * const table = await client.uploadTable({ age: [19, 33, 62], bmi: [27.9, 22.7, 26.3] });
   * for (const model of models) await client.explain({ model, table, methods });
   * ```
   */
  async uploadTable(table: TableInput<Path>, options: CallOptions = {}): Promise<TableRef> {
    if (table instanceof TableRef) return table;
    const source = tableSource(table, this.opener);
    const id = await this.during(options, (each) => this.upload("table", source, each));
    return source.repeatable ? new TableRef(id, source) : new TableRef(id);
  }

  /**
   * The server's own verdict: asked once, since it is about this moment.
   *
   * @example
   * ```ts
   * while ((await client.health()) !== "SERVING") await setTimeout(1_000);
   * ```
   */
  health(options: CallOptions = {}): Promise<Health> {
    return this.during(options, (attempts) => this.wire.health(leftOf(attempts)));
  }

  /** Begin a call, which also ends with the client. */
  private begun({ signal, timeoutMs }: CallOptions): { attempts: Attempts; release: () => void } {
    const link = linked(this.closing.signal, signal);
    const attempts = this.terms.attempts({ signal: link.signal, timeoutMs });
    return { attempts, release: link.release };
  }

  private async during<Answer>(
    options: CallOptions,
    call: (attempts: Attempts) => Promise<Answer>,
  ): Promise<Answer> {
    const { attempts, release } = this.begun(options);
    return call(attempts).finally(release);
  }

  private async request(input: ExplainInput<Path>): Promise<[ExplainRequest, Sources]> {
    const { model, table, methods, ...rest } = input;
    const request = toRequest({ ...rest, methods });
    const sources: Sources = {};
    if (model !== undefined) {
      ({ message: request.model, source: sources.model } = await toModel(model, this.opener));
    }
    if (table !== undefined) {
      ({ message: request.table, source: sources.table } = await toTable(table, this.opener));
    }
    return [request, sources];
  }

  /** Make a call with the request; upload what the server has no longer. */
  private async deliver<R extends Request, Answer>(
    request: R,
    sources: Sources,
    attempts: Attempts,
    call: (request: R, call: CallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const fit = await fitted(request, sources, this.terms.messageLimit);
    for (;;) {
      try {
        return await persist(attempts, (left) => call(fit, left));
      } catch (error) {
        const found = error instanceof ExplainError ? missing(error, sources) : undefined;
        if (found === undefined) throw error;
        rename(fit, found[0], await this.upload(...found, attempts));
      }
    }
  }

  private upload(kind: Kind, source: Source, attempts: Attempts): Promise<string> {
    // What cannot be read is known before anything is sent.
    const send = async (left: CallOptions) =>
      kind === "model"
        ? this.wire.uploadModel((await peek(source.open(), 1)).all, left)
        : this.wire.uploadTable(await opened(source), left);
    // What can be read only once cannot be sent twice.
    return source.repeatable ? persist(attempts, send) : send(leftOf(attempts));
  }

  private async followed(
    request: ExplainRequest,
    call: CallOptions,
    tell: (done: number, planned: number) => void,
  ): Promise<ExplainResponse> {
    let answer: ExplainResponse | undefined;
    // To the end of the stream: leaving it at the response would look like a cancellation.
    for await (const { event } of this.wire.explainStream(request, call)) {
      if (event.case === "progress") tell(event.value.done, event.value.planned);
      if (event.case === "response") answer = event.value;
    }
    return answer ?? noAnswer();
  }
}

/** Make a call until it is answered or there is no use in it. */
async function persist<Answer>(
  attempts: Attempts,
  call: (left: CallOptions) => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await call(leftOf(attempts));
    } catch (error) {
      if (!(error instanceof ExplainError)) throw error;
      await attempts.pause(error);
    }
  }
}

function leftOf(attempts: Attempts): CallOptions {
  return { signal: attempts.signal, timeoutMs: attempts.remainingMs() };
}

function toRequest(json: Omit<ExplainRequestJson, "methods"> & Pick<ExplainInput, "methods">) {
  try {
    return fromJson(ExplainRequestSchema, JSON.parse(JSON.stringify(json, canonical)));
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Write numbers that JSON does not have as the contract's JSON does. */
function canonical(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** A stream whose first event is there. */
interface Begun {
  readonly events: AsyncIterator<ExplainStreamResponse>;
  readonly first: IteratorResult<ExplainStreamResponse>;
}

async function* told({ events, first }: Begun): AsyncGenerator<ExplainEvent, void, undefined> {
  try {
    for (let next = first; !next.done; next = await events.next()) {
      const event = eventOf(next.value);
      if (event) yield event;
    }
  } finally {
    await events.return?.();
  }
}

function eventOf({ event }: ExplainStreamResponse): ExplainEvent | undefined {
  if (event.case === "response") {
    return { type: "explanations", explanations: new Explanations(event.value) };
  }
  if (event.case !== "progress") return undefined;
  return { type: "progress", done: event.value.done, planned: event.value.planned };
}

function noAnswer(): never {
  const message = "the call ended without an answer";
  throw new ExplainError(message, { reason: "INTERNAL", code: "INTERNAL" });
}
