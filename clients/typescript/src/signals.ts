/** Several reasons to end a call. */

/** A signal of several, to be let go of when the call is over. */
export interface Linked {
  readonly signal: AbortSignal;

  /** Listen to the others no longer: some of them outlive many calls. */
  release(): void;
}

/** Link signals into one, which tells the reason of the first that is aborted. */
export function linked(...signals: (AbortSignal | undefined)[]): Linked {
  const controller = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  const leave = () => controller.abort(given.find((signal) => signal.aborted)?.reason);
  for (const signal of given) signal.addEventListener("abort", leave);
  if (given.some((signal) => signal.aborted)) leave();
  const release = () => {
    for (const signal of given) signal.removeEventListener("abort", leave);
  };
  return { signal: controller.signal, release };
}
