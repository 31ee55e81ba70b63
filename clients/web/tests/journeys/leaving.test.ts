import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ADDRESS, accessible, choose, file, open } from "./browser";

/** What the server says of the operation that the page's address names. */
async function operationOf(page: Page): Promise<{ done?: boolean }> {
  const [, name] = /operation=(operations(?:%2F|\/)[^&]+)/.exec(page.url()) ?? [];
  const reply = await fetch(`${ADDRESS}v1/${decodeURIComponent(name ?? "")}`);
  assert.equal(reply.status, 200);
  return reply.json();
}

test("a slow model is planned, goes on without its page, and is there by the address", async () => {
  const page = await open();
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  const plan = page.getByText(
    /^The overview takes .* asks the model for (at most )?[\d,]+ predictions/,
  );
  const first = await plan.textContent();
  const seconds = page.getByLabel("Seconds that an overview may take");
  await seconds.fill("20");
  await seconds.press("Tab");
  await plan.filter({ hasNotText: first ?? "" }).waitFor();
  await accessible(page);

  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.waitForURL(/operation=/);
  await page.getByRole("region", { name: "Computation" }).waitFor();
  const address = page.url().slice(ADDRESS.length);
  const left = await operationOf(page);
  await page.close();
  assert.notEqual(left.done, true);

  const other = await open(address);
  const isThere = other.getByRole("heading", { name: "How these numbers were made" });
  await isThere.waitFor();
  await other.getByText(/^To take about 20 s, /).waitFor();
  await other.locator("figure.drawn").first().waitFor();
  assert.equal((await operationOf(other)).done, true);
  await accessible(other);
  await other.close();
});
