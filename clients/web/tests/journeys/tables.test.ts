import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { accessible, choose, explain, file, go, open } from "./browser";

const SCRIPT = /\/parquet-[^/]+\.js$/;

/** Keep a table as both kinds of file, under a name that the reader of the files knows. */
async function keep(page: Page, title: string, name: string): Promise<void> {
  for (const kind of ["CSV", "Parquet"]) {
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `${kind} of ${title}`, exact: true }).click(),
    ]);
    const ending = kind.toLowerCase();
    assert.ok(saved.suggestedFilename().endsWith(`.${ending}`));
    await saved.saveAs(`${process.env.ONNXPLAIN_KEPT}/${name}.${ending}`);
  }
}

test("tables are kept as they are searched, and Parquet's script is loaded with the first click", async () => {
  const page = await open();
  const loaded: string[] = [];
  page.on("request", (request) => {
    if (SCRIPT.test(request.url())) loaded.push(request.url());
  });
  await page.getByLabel("File of the table").setInputFiles(file("cells.csv"));
  await page.getByText("3 rows, 18 columns").waitFor();
  await accessible(page);
  assert.deepEqual(loaded, []);
  await keep(page, "First rows", "cells");
  await keep(page, "Columns", "columns");
  assert.equal(loaded.length, 1);
  const columns = page.locator(".table").filter({ hasText: "Columns" });
  await columns.getByLabel("Search").fill("extra ");
  await columns.getByText("10 of 18 rows match.").waitFor();
  await keep(page, "Columns", "found");
  await columns.getByLabel("Search").fill("no such name");
  await columns.getByText("0 of 18 rows match.").waitFor();
  await keep(page, "Columns", "none");
  await page.close();
});

test("statistics of hostile names are kept", async () => {
  const page = await open();
  await choose(page, file("hostile.onnx"), file("hostile.csv"));
  await explain(page);
  await go(page, "Interactions");
  await keep(page, "Pairs", "pairs");
  await page.close();
});

test("a script that does not come is told", async () => {
  const page = await open();
  await page.route(SCRIPT, (route) => route.abort());
  await page.getByLabel("File of the table").setInputFiles(file("cells.csv"));
  await page.getByRole("button", { name: "Parquet of First rows" }).click();
  await page.getByText("No file was made").waitFor();
  await accessible(page);
  await page.close();
});
