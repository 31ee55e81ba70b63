/** The pages of the OpenID provider, and the end of its tokens. */

import { setTimeout } from "node:timers/promises";
import type { Page, Request } from "playwright-core";
import { ADDRESS } from "./browser";

const STEP_MS = 500;

/** Say who one is, and agree. */
export async function logIn(page: Page): Promise<void> {
  await page.locator("[name=login]").fill("ada");
  await page.locator("[name=password]").fill("-");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** Press a button of the page, which opens the provider's in a window of its own. */
export async function popup(page: Page, button: string): Promise<Page> {
  const opened = page.waitForEvent("popup");
  await page.getByRole("button", { name: button, exact: true }).click();
  return opened;
}

/** Wait until the server refuses the token that a request has shown. */
export async function refusedToken(request: Request): Promise<void> {
  const headers = { authorization: request.headers()["authorization"] ?? "" };
  for (;;) {
    const { status } = await fetch(`${ADDRESS}version`, { headers });
    if (status === 401) return;
    await setTimeout(STEP_MS);
  }
}
