import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ADDRESS, accessible, choose, explain, file, open } from "./browser";
import { logIn, popup } from "./provider";

/** Let the page open no window, as blockers do: its own one goes to the provider. */
async function withoutWindows(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.open = () => null;
  });
}

/** Go to the provider's page in this window. */
async function toProvider(page: Page): Promise<void> {
  await withoutWindows(page);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.waitForURL((url) => !url.href.startsWith(ADDRESS));
}

test("what was asked before a login goes on after it, with a token of the provider", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByRole("button", { name: "Enter a token" }).click();
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Use it" }).last().click();

  const message = page.getByRole("alert").filter({ hasText: "UNAUTHENTICATED" });
  await message.getByRole("button", { name: "Log in again" }).waitFor();
  await accessible(page);
  const opened = await popup(page, "Log in again");
  await opened.waitForURL((url) => !url.href.startsWith(ADDRESS));
  const used = page.waitForRequest((request) => {
    // A JSON Web Token, of the provider.
    return /^Bearer eyJ/.test(request.headers().authorization ?? "");
  });
  await logIn(opened);
  await used;
  await explain(page);
  assert.equal(await page.getByRole("region", { name: "Access" }).count(), 0);
  await page.close();
});

test("a login where no window opens leads back to the place, and to what was asked", async () => {
  const page = await open("#/start?seconds=20");
  const asked = page.waitForRequest((request) => request.url().includes("code_challenge="));
  await toProvider(page);
  const query = new URL((await asked).url()).searchParams;
  assert.equal(query.get("code_challenge_method"), "S256");
  assert.equal(query.get("redirect_uri"), ADDRESS);
  await logIn(page);
  await page.waitForURL(`${ADDRESS}#/start?seconds=20`);
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await explain(page);
  await page.close();
});

test("a login that is given up is told, and a code that nobody asked for gives no token", async () => {
  const page = await open("#/start?seconds=20");
  const exchanges: string[] = [];
  page.on("request", (request) => {
    if (/grant_type/.test(request.postData() ?? "")) exchanges.push(request.url());
  });
  await (await popup(page, "Log in")).getByRole("link", { name: "Cancel" }).click();
  await page.getByText(/^No login: End-User aborted/).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Close" }).click();
  await page.reload();
  await toProvider(page);
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByText(/^No login: End-User aborted/).waitFor();
  assert.equal(page.url(), `${ADDRESS}#/start?seconds=20`);
  await toProvider(page);
  await page.goto(`${ADDRESS}?code=stolen&state=other`);
  await page.getByText("No login: the answer belongs to another login").waitFor();
  assert.equal(new URL(page.url()).search, "");
  assert.deepEqual(exchanges, []);
  await page.close();
});
