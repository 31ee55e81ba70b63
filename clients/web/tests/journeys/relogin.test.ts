import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, choose, explain, file, go, open } from "./browser";
import { logIn, popup } from "./provider";

test("a token that ends while an overview is computed is asked for again, and all goes on", async () => {
  const page = await open("#/start?seconds=86400");
  await logIn(await popup(page, "Log in"));
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.waitForURL(/operation=/);

  const message = page.getByRole("alert").filter({ hasText: "UNAUTHENTICATED" });
  await message.getByText("the token has expired").waitFor();
  await accessible(page);
  // The first window is closed without a login.
  await page.context().clearCookies();
  await (await popup(page, "Log in again")).close();
  await message.waitFor();
  await logIn(await popup(page, "Log in again"));

  await message.waitFor({ state: "detached" });
  await page.waitForResponse((reply) => reply.url().includes("/operations/") && reply.ok());
  await page.getByRole("button", { name: "Cancel" }).click();
  await go(page, "Model and table");
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await explain(page);
  await go(page, "Partial dependence");
  await page.locator("figure.drawn").first().waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(page.context().pages().length, 1);
  await page.close();
});
