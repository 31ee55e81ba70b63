import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ADDRESS, accessible, choose, file, open } from "./browser";

/** Drop files on a field, as a mouse does. */
async function drop(page: Page, field: string, names: readonly string[]): Promise<void> {
  const files = names.map((name) => ({ name, text: readFileSync(file(name)).toString("base64") }));
  const dataTransfer = await page.evaluateHandle((all) => {
    const made = new DataTransfer();
    for (const { name, text } of all) {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      made.items.add(new File([bytes], name));
    }
    return made;
  }, files);
  const target = page.getByRole("region", { name: field, exact: true });
  await target.dispatchEvent("dragover", { dataTransfer });
  await target.dispatchEvent("drop", { dataTransfer });
}

/** What the server says of an operation, at its end. */
async function ended(name: string): Promise<{ metadata: { state: string } }> {
  for (;;) {
    const reply = await fetch(`${ADDRESS}v1/${name}?wait=5s`);
    assert.equal(reply.status, 200);
    const operation = await reply.json();
    if (operation.done) return operation;
  }
}

/** Ask for much more than the machine can do while a test looks at it. */
async function begin(page: Page): Promise<void> {
  await page.getByText("2,000 rows, 4 columns").waitFor();
  await page.getByLabel("Seconds that an overview may take").fill("86400");
  await page.getByLabel("Seconds that an overview may take").press("Tab");
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
}

async function cancel(page: Page): Promise<void> {
  const computation = page.getByRole("region", { name: "Computation" });
  await computation.getByRole("button", { name: "Cancel" }).click();
}

const NOTHING = "Nothing is computed yet in this page.";

test("files are dropped, and what they started is cancelled, on the server too", async () => {
  const page = await open();
  const both = ["neighbours.csv", "neighbours.onnx"];
  await drop(page, "Model", both);
  await drop(page, "Table", both);
  await begin(page);
  await page.getByText(/rows predicted/).waitFor();
  await accessible(page);
  const [, name = ""] = /operation=([^&]+)/.exec(page.url()) ?? [];

  await cancel(page);
  await page.getByText(NOTHING).waitFor();
  assert.equal((await ended(decodeURIComponent(name))).metadata.state, "CANCELLED");
  assert.doesNotMatch(page.url(), /operation=/);
  await accessible(page);
  await page.reload();
  await page.getByText(NOTHING).waitFor();
  await page.close();
});

test("what is cancelled before the server has named it ends as soon as it has a name", async () => {
  const page = await open();
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const started = new Promise<string>((resolve) => {
    void page.route(/explanations:start/, async (route) => {
      const response = await route.fetch();
      resolve((await response.json()).name);
      await released;
      await route.fulfill({ response });
    });
  });
  await begin(page);
  const name = await started;
  await cancel(page);
  await page.getByText(NOTHING).waitFor();
  const asked = page.waitForRequest((request) => request.url().endsWith(`${name}:cancel`));
  release();
  await asked;
  assert.equal((await ended(name)).metadata.state, "CANCELLED");
  assert.doesNotMatch(page.url(), /operation=/);
  await page.close();
});

test("an operation that goes on although it was cancelled is told", async () => {
  const page = await open();
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  await page.route(/:cancel$/, (route) => route.fulfill({ status: 403 }));
  await begin(page);
  await page.waitForURL(/operation=/);
  const [, name = ""] = /operation=([^&]+)/.exec(page.url()) ?? [];
  await cancel(page);
  await page.getByText("Cancelling the overview: refused or failed").waitFor();
  await accessible(page);
  await page.close();
  await fetch(`${ADDRESS}v1/${decodeURIComponent(name)}:cancel`, { method: "POST" });
});
