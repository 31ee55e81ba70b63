/** Who asks: the token that calls show, and calls that wait for another one. */

import { signal } from "@preact/signals";
import { ExplainError } from "onnxplain/rest";

/** A token as it was given; given once more, it is another one. */
export interface Shown {
  readonly text: string;
}

/** A call that the server refused for who asks. */
interface Refused {
  readonly shown: Shown;
  readonly error: ExplainError;
}

/** What shows who asks; empty where nothing is needed. */
export const token = signal<Shown>({ text: "" });

/** Calls that wait for another token. */
export const waiting = signal<readonly Refused[]>([]);

const accepted = new WeakSet<Shown>();

/** Whether the server has taken a token before. */
export function wasAccepted(shown: Shown): boolean {
  return accepted.has(shown);
}

/** Make a call, and with each next token again, as long as it is refused for who asks. */
async function insist<Answer>(call: () => Promise<Answer>, ending?: AbortSignal): Promise<Answer> {
  for (;;) {
    const shown = token.peek();
    try {
      const answer = await call();
      accepted.add(shown);
      return answer;
    } catch (error) {
      if (!(error instanceof ExplainError && error.code === "UNAUTHENTICATED")) throw error;
      if (shown === token.peek()) await another({ shown, error }, ending);
    }
  }
}

/** Wait for another token. */
function another(refused: Refused, ending?: AbortSignal): Promise<void> {
  let stop = () => {};
  waiting.value = [...waiting.peek(), refused];
  const next = new Promise<void>((resolve, reject) => {
    const end = () => reject(ending?.reason);
    if (ending?.aborted) end();
    ending?.addEventListener("abort", end);
    const unfollow = token.subscribe((shown) => {
      if (shown !== refused.shown) resolve();
    });
    stop = () => {
      unfollow();
      ending?.removeEventListener("abort", end);
    };
  });
  return next.finally(() => {
    stop();
    waiting.value = waiting.peek().filter((each) => each !== refused);
  });
}

/** Events of a call that waits likewise. */
async function* streamed<Event>(
  open: () => AsyncGenerator<Event>,
  ending: AbortSignal | undefined,
): AsyncGenerator<Event> {
  // Who asks is looked at before the first event.
  const { events, first } = await insist(async () => {
    const begun = open();
    return { events: begun, first: await begun.next() };
  }, ending);
  try {
    if (!first.done) yield first.value;
    yield* events;
  } finally {
    await events.return(undefined);
  }
}

// The signal of these ends their wait only: what has begun on the server is ended by its name.
const BEGINNING: ReadonlySet<PropertyKey> = new Set(["start", "operation"]);
const STREAMING: ReadonlySet<PropertyKey> = new Set(["explainStream"]);

/**
 * A client, or an operation, whose calls wait for another token where the server refuses them for
 * who asks, and then go on. A signal among the options of a call ends its wait, too.
 */
export function patient<Calls extends object>(current: () => Calls): Calls {
  return new Proxy({} as Calls, {
    get: (_, name) => {
      const calls = current();
      const value: unknown = Reflect.get(calls, name, calls);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const ending = signalOf(given);
        const sent = BEGINNING.has(name) ? given.map(withoutSignal) : given;
        const call = () => {
          const now = current();
          return Reflect.apply(Reflect.get(now, name, now) as typeof value, now, sent);
        };
        if (STREAMING.has(name)) return streamed(call, ending);
        const answer = insist<object>(async () => call(), ending);
        return BEGINNING.has(name) ? answer.then((made) => patient(() => made)) : answer;
      };
    },
  });
}

function signalOf(given: readonly unknown[]): AbortSignal | undefined {
  const { signal: found } = Object(given.at(-1)) as { signal?: unknown };
  return found instanceof AbortSignal ? found : undefined;
}

function withoutSignal(given: unknown): unknown {
  if (signalOf([given]) === undefined) return given;
  const { signal: _, ...others } = given as { signal: AbortSignal };
  return others;
}
