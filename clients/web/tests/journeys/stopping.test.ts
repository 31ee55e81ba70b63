import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { ADDRESS, accessible, file, open } from "./browser";

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

test("files are dropped, and what they started is cancelled, on the server too", async () => {
  const page = await open();
  const both = ["neighbours.csv", "neighbours.onnx"];
  await drop(page, "Model", both);
  await drop(page, "Table", both);
  await page.getByText("2,000 rows, 4 columns").waitFor();
  // Much more than the machine can do while this test looks at it.
  await page.getByLabel("Seconds that an overview may take").fill("86400");
  await page.getByLabel("Seconds that an overview may take").press("Tab");
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.getByText(/rows predicted/).waitFor();
  await accessible(page);
  const [, name = ""] = /operation=([^&]+)/.exec(page.url()) ?? [];

  await page.getByRole("region", { name: "Computation" }).getByRole("button").click();
  await page.getByText("Nothing is computed yet in this page.").waitFor();
  assert.equal((await ended(decodeURIComponent(name))).metadata.state, "CANCELLED");
  assert.doesNotMatch(page.url(), /operation=/);
  await accessible(page);
  await page.reload();
  await page.getByText("Nothing is computed yet in this page.").waitFor();
  await page.close();
});
