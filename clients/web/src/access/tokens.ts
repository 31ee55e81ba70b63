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

const KEY = "onnxplain-token";

/**
 * Take the token out of the address, where `onnxplain ui` writes it: whoever is shown the address later
 * shall not have it. It is kept for this tab, so that the page can be loaded again.
 */
export function takeFromAddress(): void {
  const [path = "", asked = ""] = location.hash.split("?");
  const query = new URLSearchParams(asked);
  const given = query.get("token");
  if (given === null) {
    token.value = sessionStorage.getItem(KEY) ?? "";
    return;
  }
  query.delete("token");
  sessionStorage.setItem(KEY, given);
  token.value = given;
  history.replaceState(null, "", query.size === 0 ? path : `${path}?${query}`);
}
