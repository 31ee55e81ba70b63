/** Explanations on their way, and those that are there. */

import { signal } from "@preact/signals";
import type { ExplainInput, v1 } from "onnxplain/rest";
import { ExplainError, type Explanation, type Explanations, type Operation } from "onnxplain/rest";
import { config } from "./config";
import type { Question } from "./question";
import { client, modelOf, options, tableOf } from "./server";
import { forgetOperation, go, place, question } from "./store";

/** Methods with their options, in the contract's JSON. */
export type Methods = ExplainInput["methods"];

/** A computation on its way. */
export interface Run {
  readonly title: string;
  readonly methods: Methods;
  readonly startTime: number;
  readonly done: number;
  readonly planned: number;

  /** What it takes, as far as that was planned. */
  readonly plan?: v1.ExplanationPlan | undefined;

  /** Whether it waits for its turn on the server, as far as that is known. */
  readonly isWaiting?: boolean;

  /** What is finished so far, by its index in the answer. */
  readonly parts: readonly Explanation[];
  readonly cancel: () => void;
  readonly error?: unknown;
}

/** An answer with what it was asked. */
export interface Answer {
  readonly methods: Methods;
  readonly found: Explanations;
}

export const run = signal<Run | undefined>(undefined);
export const answers = signal<readonly Answer[]>([]);

// Parts and plan of an operation are looked for as often.
const STEP_MS = 1_000;

let asker = "";

/** Forget answers of another question. */
export function forgetOthers(): void {
  const { model, table, target, weight, features, output } = question.value;
  const key = JSON.stringify([model?.value, table?.value, target, weight, features, output]);
  if (key === asker) return;
  asker = key;
  run.peek()?.cancel();
  run.value = undefined;
  answers.value = [];
}

/** Write the request of a question. */
export function inputOf(asked: Question, methods: Methods): ExplainInput {
  return {
    ...options(asked),
    ...(asked.model === undefined ? {} : { model: modelOf(asked.model) }),
    ...(asked.table === undefined ? {} : { table: tableOf(asked.table) }),
    ...(methods.length === 0 ? { budgetSeconds: asked.seconds } : {}),
    methods,
  };
}

/** Compute, with the plan if there is one; the answer joins the others. An overview has no methods. */
export async function compute(title: string, methods: Methods, plan?: Run["plan"]): Promise<void> {
  const ending = new AbortController();
  const made = begun(title, methods, ending);
  run.value = { ...made, plan };
  const input = inputOf(question.peek(), methods);
  try {
    const operation = methods.length === 0 ? await started(input, ending.signal) : undefined;
    if (operation === undefined) await streamed(input, ending.signal);
    else await awaited(operation, ending.signal);
  } catch (error) {
    fail(made, error, ending);
  }
}

/** Come back to an operation by its name. */
export async function resume(name: string): Promise<void> {
  const ending = new AbortController();
  const made = begun("Overview", [], ending);
  try {
    const operation = await endedWith(
      ending.signal,
      client.operation(name, { signal: ending.signal }),
    );
    since(operation.createTime);
    await awaited(operation, ending.signal);
  } catch (error) {
    fail(made, error, ending);
  }
}

/** Compute by several requests, each a `step`; undefined where that was cancelled or failed. */
export async function computeSteps<Found>(
  title: string,
  methods: Methods,
  steps: (ending: AbortSignal) => Promise<Found>,
): Promise<Found | undefined> {
  const ending = new AbortController();
  const made = begun(title, methods, ending);
  try {
    const found = await steps(ending.signal);
    if (run.peek()?.cancel === made.cancel) run.value = undefined;
    return found;
  } catch (error) {
    fail(made, error, ending);
    return undefined;
  }
}

/** One request of a computation by several; its answer does not join the others. */
export async function step(
  told: Pick<Run, "title" | "plan">,
  input: ExplainInput,
  ending: AbortSignal,
): Promise<Explanations> {
  ending.throwIfAborted();
  if (run.value !== undefined) run.value = { ...run.value, ...told, done: 0, planned: 0 };
  for await (const event of client.explainStream(input, { signal: ending })) {
    if (event.type === "progress") progress(event.done, event.planned);
    else if (event.type === "explanations") return event.explanations;
  }
  throw new Error("the server ended the stream without an answer");
}

function begun(title: string, methods: Methods, ending: AbortController): Run {
  run.peek()?.cancel();
  const cancel = () => ending.abort();
  const startTime = Date.now();
  run.value = { title, methods, startTime, done: 0, planned: 0, parts: [], cancel };
  return run.value;
}

/** Count the time of an operation from its start, by the server's clock as far as it is not ahead. */
function since(time: Date | undefined): void {
  if (run.value === undefined || time === undefined) return;
  run.value = { ...run.value, startTime: Math.min(Date.now(), time.getTime()) };
}

function fail({ startTime, methods, cancel }: Run, error: unknown, ending: AbortController) {
  const current = run.peek();
  if (current?.cancel !== cancel) return;
  const { title } = current;
  if (ending.signal.aborted) {
    run.value = undefined;
    // Whoever comes back by the address would find what was cancelled.
    if (methods.length === 0) forgetOperation();
  } else run.value = { title, methods, startTime, cancel, done: 0, planned: 0, parts: [], error };
}

async function started(input: ExplainInput, ending: AbortSignal): Promise<Operation | undefined> {
  if (config.peek().hasOperations === false) return undefined;
  try {
    const labels = { page: "overview" };
    const starting = client.start({ ...input, partial: true }, { labels, signal: ending });
    const operation = await endedWith(ending, starting);
    go({ operation: operation.name });
    return operation;
  } catch (error) {
    if (error instanceof ExplainError && error.reason === "OPERATIONS_DISABLED") return undefined;
    throw error;
  }
}

/**
 * An operation that its reader ends with the run, as soon as its name is known. Leaving the page
 * leaves it alone.
 */
function endedWith(ending: AbortSignal, asked: Promise<Operation>): Promise<Operation> {
  return new Promise((resolve, reject) => {
    asked.then(resolve, reject);
    ending.addEventListener("abort", () => {
      reject(ending.reason);
      // What was refused needs no end.
      asked.then(end, () => undefined);
    });
  });
}

async function end(operation: Operation): Promise<void> {
  try {
    await operation.cancel();
  } catch (error) {
    if (run.peek() !== undefined) return;
    const ending = new AbortController();
    fail(begun("Cancelling the overview", [], ending), error, ending);
  }
}

async function awaited(operation: Operation, signal: AbortSignal): Promise<void> {
  told(operation);
  while (!(await operation.wait({ timeoutMs: STEP_MS, signal, onProgress: progress }))) {
    told(operation);
    for (const { index, explanations } of await operation.partials({ signal })) {
      part(index, explanations);
    }
  }
  finish([], await operation.result({ signal }));
}

async function streamed(input: ExplainInput, ending: AbortSignal): Promise<void> {
  const events = client.explainStream({ ...input, partial: true }, { signal: ending });
  for await (const event of events) {
    if (event.type === "progress") progress(event.done, event.planned);
    else if (event.type === "partial") part(event.index, event.explanations);
    else finish(input.methods, event.explanations);
  }
}

/** Show what an operation tells beside its progress. */
function told({ plan, state }: Operation): void {
  const { value } = run;
  if (value === undefined) return;
  run.value = { ...value, plan: plan ?? value.plan, isWaiting: state === "PENDING" };
}

function progress(done: number, planned: number): void {
  if (run.value !== undefined) run.value = { ...run.value, done, planned };
}

function part(index: number, found: Explanations): void {
  const [explanation] = found.all;
  if (run.value === undefined || explanation === undefined) return;
  const parts = [...run.value.parts];
  parts[index] = explanation;
  run.value = { ...run.value, parts };
}

function finish(methods: Methods, found: Explanations): void {
  const key = JSON.stringify(methods);
  const others = answers.peek().filter((each) => JSON.stringify(each.methods) !== key);
  answers.value = [...others, { methods, found }];
  run.value = undefined;
}

/** The overview, if it is there. */
export function overviewOf(all: readonly Answer[]): Answer | undefined {
  return all.find((each) => each.methods.length === 0);
}

/** Resume the operation that the address names, once. */
export function resumeFromAddress(): void {
  const { operation } = place.peek();
  if (operation !== "" && overviewOf(answers.peek()) === undefined && run.peek() === undefined) {
    void resume(operation);
  }
}

/** Resume it again, as for another reader, where that failed. */
export function resumeAgain(): void {
  if (place.peek().operation !== "" && run.peek()?.error !== undefined) run.value = undefined;
  resumeFromAddress();
}
