/** How calls are made until they are answered: again, and with the files that a server lacks. */

import { ExplainError } from "./errors.js";
import { filesOf } from "./external_data.js";
import { fitted, type Kind, missing, type Request, rename, type Sources } from "./parcel.js";
import type { Attempts } from "./retry.js";
import { linked } from "./signals.js";
import { peek, type Source } from "./sources.js";
import { opened } from "./tables.js";
import type { CallOptions, Terms } from "./terms.js";
import type { Wire } from "./wire.js";

/** Makes the calls of one client. */
export class Delivery {
  private readonly closing = new AbortController();

  constructor(
    private readonly wire: Wire,
    private readonly terms: Terms,
  ) {}

  /** End all calls, those to come too. */
  close(): void {
    this.closing.abort();
  }

  /** Begin a call, which also ends with the client. */
  begun({ signal, timeoutMs }: CallOptions): { attempts: Attempts; release: () => void } {
    const link = linked(this.closing.signal, signal);
    const attempts = this.terms.attempts({ signal: link.signal, timeoutMs });
    return { attempts, release: link.release };
  }

  /** Make a call from its beginning to its end. */
  async during<Answer>(
    options: CallOptions,
    call: (attempts: Attempts) => Promise<Answer>,
  ): Promise<Answer> {
    const { attempts, release } = this.begun(options);
    return call(attempts).finally(release);
  }

  /** Make a call that has no files, again until it is answered. */
  ask<Answer>(options: CallOptions, call: (left: CallOptions) => Promise<Answer>): Promise<Answer> {
    return this.during(options, (attempts) => persist(attempts, call));
  }

  /** Make a call with the request; upload what the server has no longer. */
  async deliver<R extends Request, Answer>(
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

  /** Send a file, and return its id. */
  upload(kind: Kind, source: Source, attempts: Attempts): Promise<string> {
    // What cannot be read is known before anything is sent.
    const send = async (left: CallOptions) =>
      kind === "model"
        ? this.wire.uploadModel(filesOf(await peeked(source)), left)
        : this.wire.uploadTable(await opened(source), left);
    // What can be read only once cannot be sent twice.
    return source.repeatable ? persist(attempts, send) : send(leftOf(attempts));
  }
}

/** A file that is opened once, of which the first byte has been read. */
async function peeked(source: Source): Promise<Source> {
  const { all } = await peek(source.open(), 1);
  return { ...source, open: () => all };
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

/** What is left for the next attempt. */
export function leftOf(attempts: Attempts): CallOptions {
  return { signal: attempts.signal, timeoutMs: attempts.remainingMs() };
}
