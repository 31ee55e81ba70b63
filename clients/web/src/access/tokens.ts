/** Whether the page asks who its reader is, and how that is told. */

import { signal } from "@preact/signals";
import { token } from "../shared/server";
import { describeAgain } from "../shared/store";

/** Whether the form for tokens is open. */
export const isAsking = signal(false);

/** Show this token with each call from now on. */
export function show(text: string): void {
  token.value = text.trim();
  isAsking.value = false;
  void describeAgain();
}
