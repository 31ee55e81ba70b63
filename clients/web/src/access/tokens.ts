/** Whether the page asks who its reader is, and how that is told. */

import { signal } from "@preact/signals";
import { token } from "../common/asking";
import { resumeAgain } from "../common/runs";
import { describeAgain } from "../common/store";

/** Whether the form for tokens is open. */
export const isAsking = signal(false);

const KEY = "onnxplain-token";

/** Show this token with each call from now on, as long as the tab is open. */
export function show(text: string): void {
  keep(text.trim());
  goOn();
}

/** Go on with what failed for the former reader; what waits goes on by itself. */
export function goOn(): void {
  isAsking.value = false;
  void describeAgain();
  resumeAgain();
}

/** Keep a token for the tab. */
export function keep(text: string): void {
  token.value = { text };
  if (text === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, text);
}

/** Take the token of the tab, or of the address, from which it goes: addresses are passed on. */
export function recall(): void {
  const [path = "", query = ""] = location.hash.split("?");
  const told = new URLSearchParams(query);
  const given = told.get("token") ?? "";
  if (given === "") {
    token.value = { text: sessionStorage.getItem(KEY) ?? "" };
    return;
  }
  keep(given);
  told.delete("token");
  const hash = told.size > 0 ? `${path}?${told}` : path;
  history.replaceState(null, "", `${location.pathname}${location.search}${hash}`);
}
