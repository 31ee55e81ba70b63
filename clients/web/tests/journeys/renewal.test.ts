import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, explain, file, go, open } from "./browser";
import { logIn, popup, refusedToken } from "./provider";

test("a token with a refresh token is renewed before its end, and nobody is asked again", async () => {
  const page = await open("#/start?seconds=86400");
  const grants: string[] = [];
  const refused: string[] = [];
  page.on("request", (request) => {
    grants.push(new URLSearchParams(request.postData() ?? "").get("grant_type") ?? "");
  });
  page.on("response", (response) => {
    if (response.status() === 401) refused.push(response.url());
  });
  const first = page.waitForRequest((request) => "authorization" in request.headers());
  await logIn(await popup(page, "Log in"));
  await page.getByRole("region", { name: "Access" }).waitFor({ state: "detached" });
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.waitForURL(/operation=/);
  await refusedToken(await first);

  // What is computed is still asked for, and what is begun now is answered.
  await page.waitForResponse((reply) => reply.url().includes("/operations/") && reply.ok());
  await page.getByRole("button", { name: "Cancel" }).click();
  await go(page, "Model and table");
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await explain(page);
  await go(page, "Partial dependence");
  await page.locator("figure.drawn").first().waitFor();
  assert.ok(grants.includes("refresh_token"));
  assert.deepEqual(refused, []);
  await page.close();
});
