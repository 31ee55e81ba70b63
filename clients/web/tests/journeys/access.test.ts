import assert from "node:assert/strict";
import { test } from "node:test";
import { ADDRESS, accessible, choose, explain, file, open } from "./browser";

const TOKEN = process.env.ONNXPLAIN_TOKEN ?? "";

test("without a token the page asks for one, and what was chosen goes on with the right one", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByRole("button", { name: "Enter a token" }).click();
  await accessible(page);
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Use it" }).last().click();
  await page.getByRole("alert").getByText("no caller has this token").waitFor();
  await page.getByRole("button", { name: "Enter a token" }).click();

  await page.getByLabel("Token", { exact: true }).fill(TOKEN);
  await page.getByRole("button", { name: "Use it" }).last().click();
  await explain(page);
  assert.equal(await page.getByRole("region", { name: "Access" }).count(), 0);
  await page.close();
});

test("a token of the address opens, and does not stay in it", async () => {
  const page = await open(`#/start?token=${TOKEN}`);
  assert.doesNotMatch(page.url(), /token/);
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await explain(page);
  await page.close();
});

test("an operation goes on without its page, and is found again by the address", async () => {
  const page = await open(`#/start?token=${TOKEN}`);
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.waitForURL(/operation=operations/);
  const address = page.url().slice(ADDRESS.length);
  await page.close();

  const other = await open(address.replace("?", `?token=${TOKEN}&`));
  await other.getByRole("heading", { name: "How these numbers were made" }).waitFor();
  await other.close();

  const third = await open(address);
  await third.getByRole("region", { name: "Computation" }).waitFor();
  for (const token of ["wrong", TOKEN]) {
    await third.getByRole("alert").getByText("UNAUTHENTICATED").waitFor();
    await third.getByLabel("Token", { exact: true }).fill(token);
    await third.getByRole("button", { name: "Use it" }).last().click();
    if (token === "wrong") await third.getByRole("button", { name: "Enter a token" }).click();
  }
  await third.getByRole("heading", { name: "How these numbers were made" }).waitFor();
  assert.equal(await third.getByRole("alert").count(), 0);
  await third.close();
});
