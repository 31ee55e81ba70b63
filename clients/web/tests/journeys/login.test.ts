import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ADDRESS, accessible, choose, explain, file, open } from "./browser";

/** Ask for what needs a token, and go to the provider's page. */
async function toProvider(page: Page): Promise<void> {
  await page.getByLabel("File of the model").setInputFiles(file("fruit.onnx"));
  await page.getByRole("button", { name: "Enter a token" }).click();
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL((url) => !url.href.startsWith(ADDRESS));
}

test("a login at the provider's page leads back to the place, with a token", async () => {
  const page = await open("#/start?seconds=20");
  await page.getByLabel("File of the model").setInputFiles(file("fruit.onnx"));
  await page.getByRole("button", { name: "Enter a token" }).click();
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Use it" }).last().click();
  await page.getByRole("button", { name: "Log in" }).waitFor({ state: "detached" });

  const asked = page.waitForRequest((request) => request.url().includes("code_challenge="));
  await toProvider(page);
  const query = new URL((await asked).url()).searchParams;
  assert.equal(query.get("code_challenge_method"), "S256");
  assert.equal(query.get("redirect_uri"), ADDRESS);

  await page.locator("[name=login]").fill("ada");
  await page.locator("[name=password]").fill("-");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${ADDRESS}#/start?seconds=20`);

  const used = page.waitForRequest((request) => request.url().includes("/v1/"));
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  // A JSON Web Token, of the provider.
  assert.match((await used).headers().authorization ?? "", /^Bearer eyJ/);
  await explain(page);
  await accessible(page);
  await page.close();
});

test("a login that is given up is told, and a code that nobody asked for gives no token", async () => {
  const page = await open();
  const exchanges: string[] = [];
  page.on("request", (request) => {
    if (/grant_type/.test(request.postData() ?? "")) exchanges.push(request.url());
  });
  await toProvider(page);
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByText(/^No login: End-User aborted/).waitFor();
  await accessible(page);
  await toProvider(page);
  await page.goto(`${ADDRESS}?code=stolen&state=other`);
  await page.getByText("No login: the answer belongs to another login").waitFor();
  assert.equal(new URL(page.url()).search, "");
  await page.goto(`${ADDRESS}?code=stolen&state=other`);
  await page.getByLabel("File of the model").setInputFiles(file("fruit.onnx"));
  await page.getByRole("button", { name: "Enter a token" }).waitFor();
  assert.deepEqual(exchanges, []);
  await page.close();
});
