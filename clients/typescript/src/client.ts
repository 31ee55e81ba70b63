/** The client: one method per call of the service. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Delivery, leftOf } from "./delivery.js";
import { Explanations } from "./explanations.js";
import { openModel } from "./external_data.js";
import type { ExplanationComparison } from "./gen/onnxplain/v1/explanation_comparison_pb.js";
import {
  type CheckModelRequest,
  type CheckModelResponse,
  CompareExplanationsRequestSchema,
  type DescribeModelRequest,
  DescribeModelRequestSchema,
  type DescribeTableRequest,
  type DescribeTableResponse,
  type ExplainRequest,
  type PredictRequest,
  type PredictResponse,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import type { ModelDescription } from "./gen/onnxplain/v1/model_pb.js";
import type { ExplanationPlan } from "./gen/onnxplain/v1/plan_pb.js";
import { type ModelInput, type TableInput, tableSource, toModel } from "./inputs.js";
import { OperationCalls } from "./operations/calls.js";
import { checkedName, Operation } from "./operations/operation.js";
import {
  begin,
  type ExplainEvent,
  followed,
  noAnswer,
  type ProgressCallback,
  rising,
  told,
} from "./progress.js";
import { ModelRef, TableRef } from "./references.js";
import {
  type CheckModelInput,
  type DescribeTableInput,
  type ExplainInput,
  type PredictInput,
  toCheckModelRequest,
  toDescribeTableRequest,
  toPredictRequest,
  toRequest,
} from "./requests.js";
import type { Opener } from "./sources.js";
import type { CallOptions, Terms } from "./terms.js";
import type { Health, Wire } from "./wire.js";

/** Options of `Client.explain`. */
export interface ExplainOptions extends CallOptions {
  /** Told how many rows are predicted, of how many at most. */
  readonly onProgress?: ProgressCallback | undefined;
}

/** Options of `Client.start`. */
export interface StartOptions extends CallOptions {
  /**
   * Name of the request: an equal request with the same name starts nothing new, but returns the
   * same operation. Default: a random one.
   */
  readonly requestId?: string | undefined;

  /** For the filter of `Client.operations`. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Explains models; calls can run side by side. `connect` makes one.
 *
 * Whatever a call meets is an ExplainError. What cannot be read here, before anything is sent,
 * is a TypeError, or the file system's error.
 */
export class Client<Path = never> {
  private readonly delivery: Delivery;
  private readonly calls: OperationCalls;

  /**
   * @param wire closed with the client
   * @param terms what holds for every call
   * @param opener opens files by `Path`
   */
  constructor(
    private readonly wire: Wire,
    terms: Terms,
    private readonly opener: Opener,
  ) {
    this.delivery = new Delivery(wire, terms);
    this.calls = new OperationCalls(wire.operations, this.delivery);
  }

  /**
   * Let go of the connection; running calls end.
   *
   * @example
   * ```ts
   * process.on("SIGTERM", () => client.close());
   * ```
   */
  close(): void {
    this.delivery.close();
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
    const { request, sources } = await toRequest(input, this.opener);
    if (request.partial) {
      throw new TypeError("partial: only explainStream and start give partial answers");
    }
    const tell = onProgress && rising(onProgress);
    const ask = (fit: ExplainRequest, left: CallOptions) =>
      tell ? followed(this.wire.explainStream(fit, left), tell) : this.wire.explain(fit, left);
    return this.delivery.during(call, async (attempts) => {
      return new Explanations(await this.delivery.deliver(request, sources, attempts, ask));
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
    const { request, sources } = await toRequest(input, this.opener);
    const ask = (fit: ExplainRequest, left: CallOptions) =>
      begin(this.wire.explainStream(fit, left));
    const { attempts, release } = this.delivery.begun(options);
    try {
      yield* told(await this.delivery.deliver(request, sources, attempts, ask));
    } finally {
      release();
    }
  }

  /**
   * Tell what an explanation would take, without computing it.
   *
   * @example
   * ```ts
   * const plan = await client.plan({ model, table, methods: [{ interactions: {} }] });
   * console.log(plan.predictedRowCount, plan.seconds?.high);
   * for (const saving of plan.savings) console.log(saving.field, saving.value, saving.accuracy);
   * ```
   */
  async plan(input: ExplainInput<Path>, options: CallOptions = {}): Promise<ExplanationPlan> {
    const { request, sources } = await toRequest(input, this.opener);
    const ask = (fit: ExplainRequest, left: CallOptions) => this.wire.plan(fit, left);
    return this.delivery.during(options, (attempts) =>
      this.delivery.deliver(request, sources, attempts, ask),
    );
  }

  /**
   * Start an explanation that the server computes and keeps. It outlives this client:
   * `operation` finds it again by its name. A server without Redis refuses with
   * OPERATIONS_DISABLED. The options are of this call, not of the explanation.
   *
   * @example
   * ```ts
   * const operation = await client.start({ model, table, methods }, { labels: { team: "risk" } });
   * const found = await operation.result();
   * ```
   */
  async start(input: ExplainInput<Path>, options: StartOptions = {}): Promise<Operation> {
    const { requestId = randomName(), labels = {}, ...call } = options;
    const { request, sources } = await toRequest(input, this.opener);
    const ask = (fit: ExplainRequest, left: CallOptions) =>
      this.wire.start(fit, { requestId, labels }, left);
    return this.delivery.during(call, async (attempts) => {
      return new Operation(
        await this.delivery.deliver(request, sources, attempts, ask),
        this.calls,
      );
    });
  }

  /**
   * Find an operation again, by its name.
   *
   * @example
   * ```ts
   * const operation = await client.operation("operations/5f0c9e");
   * if (operation.isDone) await report(await operation.result());
   * ```
   */
  async operation(name: string, options: CallOptions = {}): Promise<Operation> {
    return new Operation(await this.calls.get(checkedName(name), options), this.calls);
  }

  /**
   * The operations of this caller, newest first, without their answers.
   *
   * @param filter conditions joined by AND, with = and !=, of state, done, method, request_id and
   *   labels.KEY
   * @param options hold for each page
   *
   * @example
   * ```ts
   * for await (const operation of client.operations('done = false AND labels.team = "risk"')) {
   *   await operation.cancel();
   * }
   * ```
   */
  async *operations(
    filter = "",
    options: CallOptions = {},
  ): AsyncGenerator<Operation, void, undefined> {
    for await (const message of this.calls.all(filter, options)) {
      yield new Operation(message, this.calls);
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
    return this.delivery.during(options, async (attempts) => {
      const answer = await this.delivery.deliver(request, { model: input.source }, attempts, ask);
      return answer.model ?? noAnswer();
    });
  }

  /**
   * Tell what a table holds: rows, columns, its first rows, chosen ones, or those nearest to a row;
   * and with a model, which column is which feature.
   *
   * @example
   * ```ts
   * const found = await client.describeTable({ table: "rows.csv", model: "model.onnx" });
   * found.table?.matching?.featureColumns; // ["age", "bmi"]
   * ```
   */
  async describeTable(
    input: DescribeTableInput<Path>,
    options: CallOptions = {},
  ): Promise<DescribeTableResponse> {
    const { request, sources } = await toDescribeTableRequest(input, this.opener);
    const ask = (fit: DescribeTableRequest, left: CallOptions) =>
      this.wire.describeTable(fit, left);
    return this.delivery.during(options, (attempts) =>
      this.delivery.deliver(request, sources, attempts, ask),
    );
  }

  /**
   * Predict rows of a table, as an explanation would ask the model for them. The values are
   * row-major: those of all outputs for the first row, then for the second.
   *
   * @example
   * ```ts
   * const found = await client.predict({ model, table, rowIndices: [0, 5, 7] });
   * found.values[found.outputNames.indexOf("virginica")];
   * ```
   */
  async predict(input: PredictInput<Path>, options: CallOptions = {}): Promise<PredictResponse> {
    const { request, sources } = await toPredictRequest(input, this.opener);
    const ask = (fit: PredictRequest, left: CallOptions) => this.wire.predict(fit, left);
    return this.delivery.during(options, (attempts) =>
      this.delivery.deliver(request, sources, attempts, ask),
    );
  }

  /**
   * Compare a model with what the library that trained it predicted, which columns of the table
   * hold; and find the cause where both differ.
   *
   * @example
   * ```ts
   * const found = await client.checkModel({ model, table, expectedPredictionColumns: ["expected"] });
   * found.comparison?.agrees;
   * ```
   */
  async checkModel(
    input: CheckModelInput<Path>,
    options: CallOptions = {},
  ): Promise<CheckModelResponse> {
    const { request, sources } = await toCheckModelRequest(input, this.opener);
    const ask = (fit: CheckModelRequest, left: CallOptions) => this.wire.checkModel(fit, left);
    return this.delivery.during(options, (attempts) =>
      this.delivery.deliver(request, sources, attempts, ask),
    );
  }

  /**
   * Compare two answers that were kept, each made with replicates: what has changed, and which
   * rules of the reference hold. Explains nothing.
   *
   * @example
   * ```ts
   * const found = await client.compareExplanations({
   *   reference: { answer: before.message, rules: [{ statistic: AVERAGE_LOSS, holds: "change <= 0.01" }] },
   *   answer: after.message,
   * });
   * ```
   */
  async compareExplanations(
    input: MessageInitShape<typeof CompareExplanationsRequestSchema>,
    options: CallOptions = {},
  ): Promise<ExplanationComparison> {
    const request = create(CompareExplanationsRequestSchema, input);
    const answer = await this.delivery.ask(options, (left) =>
      this.wire.compareExplanations(request, left),
    );
    return answer.comparison ?? noAnswer();
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
    const source = openModel(model, this.opener);
    const id = await this.delivery.during(options, (each) =>
      this.delivery.upload("model", source, each),
    );
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
    const id = await this.delivery.during(options, (each) =>
      this.delivery.upload("table", source, each),
    );
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
    return this.delivery.during(options, (attempts) => this.wire.health(leftOf(attempts)));
  }
}

/** Makes repetitions of a start safe whose answer was lost. */
function randomName(): string {
  // `randomUUID` is missing in pages without TLS.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
