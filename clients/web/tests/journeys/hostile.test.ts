import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { accessible, choose, compare, explain, file, go, kept, open, shortened } from "./browser";

async function unbroken(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    isBroken: "broken" in window,
    scripts: [...document.scripts].filter(({ src }) => !src.startsWith(location.origin)).length,
    links: [...document.links].filter(({ protocol }) => !/^(https?|blob):$/.test(protocol)).length,
    images: document.images.length,
  }));
  assert.deepEqual(found, { isBroken: false, scripts: 0, links: 0, images: 0 });
}

test("names of columns, classes and files are text in all rooms and in the report", async () => {
  const page = await open();
  const model = file('<img src=x onerror="window.broken = 1">.onnx');
  await choose(page, model, file("hostile.csv"));
  await page.getByText("120 rows, 8 columns").waitFor();
  await unbroken(page);
  await accessible(page);
  await page.getByRole("button", { name: "Use it as target" }).click();

  await explain(page);
  await unbroken(page);
  for (const room of ["Interactions", "Partial dependence", "One row", "Share"]) {
    await go(page, room);
    await page.waitForLoadState("networkidle");
    await unbroken(page);
    await accessible(page);
  }
  await go(page, "Compare");
  await page.getByLabel("File of the table").setInputFiles(shortened("hostile.csv", 20));
  await compare(page);
  await page.locator("figure.drawn").first().waitFor();
  await unbroken(page);
  await accessible(page);
  await go(page, "Share");
  const report = await kept(page, "Report as one HTML file");
  // A browser takes a file for a page by its ending.
  const path = join(mkdtempSync(join(tmpdir(), "report-")), "report.html");
  writeFileSync(path, report);
  await page.goto(`file://${path}`);
  await page.locator("#receipt").waitFor();
  const parts = await page.evaluate(() => ({
    isBroken: "broken" in window,
    scripts: document.scripts.length,
    links: document.links.length,
    foreign: [...document.images].filter(({ src }) => !src.startsWith("data:image/svg+xml")).length,
  }));
  assert.deepEqual(parts, { isBroken: false, scripts: 0, links: 0, foreign: 0 });
  await page.close();
});
