/** Streams of events: progress on the way, the answer at the end. */

import { ExplainError } from "./errors.js";
import { Explanations } from "./explanations.js";
import type {
  ExplainResponse,
  ExplainStreamResponse,
} from "./gen/onnxplain/v1/explanation_service_pb.js";
import { type PartialExplanation, toPartial } from "./partials.js";

/** Told how many rows are predicted, of how many at most. */
export type ProgressCallback = (done: number, planned: number) => void;

/** What `Client.explainStream` gives: progress and parts on the way, the explanations at the end. */
export type ExplainEvent =
  | { readonly type: "progress"; readonly done: number; readonly planned: number }
  | ({ readonly type: "partial" } & PartialExplanation)
  | { readonly type: "explanations"; readonly explanations: Explanations };

/** Tell progress only where it is one: a call that is made again begins anew. */
export function rising(tell: ProgressCallback): ProgressCallback {
  let most = Number.NEGATIVE_INFINITY;
  return (done, planned) => {
    if (done < most) return;
    most = done;
    tell(done, planned);
  };
}

/** Tell the progress of a stream, and return its answer. */
export async function followed(
  events: AsyncIterable<ExplainStreamResponse>,
  tell: ProgressCallback,
): Promise<ExplainResponse> {
  let answer: ExplainResponse | undefined;
  // To the end of the stream: leaving it at the response would look like a cancellation.
  for await (const { event } of events) {
    if (event.case === "progress") tell(event.value.done, event.value.planned);
    if (event.case === "response") answer = event.value;
  }
  return answer ?? noAnswer();
}

/** A stream whose first event is there. */
export interface Begun {
  readonly events: AsyncIterator<ExplainStreamResponse>;
  readonly first: IteratorResult<ExplainStreamResponse>;
}

/** Begin a stream: its first event tells whether it could be. */
export async function begin(stream: AsyncIterable<ExplainStreamResponse>): Promise<Begun> {
  const events = stream[Symbol.asyncIterator]();
  return { events, first: await events.next() };
}

/** Read a stream as callers see it; whoever leaves ends it. */
export async function* told({
  events,
  first,
}: Begun): AsyncGenerator<ExplainEvent, void, undefined> {
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
  if (event.case === "partial") return { type: "partial", ...toPartial(event.value) };
  if (event.case !== "progress") return undefined;
  return { type: "progress", done: event.value.done, planned: event.value.planned };
}

/** Throw for a call that ended too early. */
export function noAnswer(): never {
  const message = "the call ended without an answer";
  throw new ExplainError(message, { reason: "INTERNAL", code: "INTERNAL" });
}
