import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, choose, explain, file, go, open, type } from "./browser";

const SECONDS = "Seconds that an overview may take";

test("500 features are explained, searched and sorted", async () => {
  const page = await open();
  await choose(page, file("genes.onnx"), file("genes.csv"));
  await page.getByText("400 rows, 500 columns").waitFor();
  await type(page.getByLabel(SECONDS), "5");
  await explain(page);
  const contents = page.getByRole("navigation", { name: "Explore" });
  await contents.getByText("470 more: search for them.").waitFor();
  await contents.getByLabel("Search features").fill("gene49");
  assert.equal(await contents.locator("details li").count(), 10);
  await accessible(page);

  await go(page, "Model and table");
  const columns = page.getByRole("region", { name: "Columns", exact: true });
  const first = columns.locator("tbody tr").first();
  assert.match((await first.textContent()) ?? "", /^gene000/);
  await columns.getByRole("button", { name: "Column" }).click();
  await columns.getByRole("button", { name: "Column" }).click();
  assert.match((await first.textContent()) ?? "", /^gene499/);
  // All 5,000 cells of the first rows would take axe a minute.
  await accessible(page, "section[aria-label=Columns]");
  await page.close();
});

test("1,000,000 rows are explained by those that are drawn, and each can be looked at", async () => {
  const page = await open();
  await choose(page, file("tall.onnx"), file("tall.csv"));
  await page.getByText("1,000,000 rows, 4 columns").waitFor();
  await accessible(page);
  await type(page.getByLabel(SECONDS), "5");
  await explain(page);
  const told = await page.getByText(/ of 1,000,000 rows were drawn for /).textContent();
  const drawn = /^[\d,]+/.exec(told ?? "")?.[0];
  await page.getByText(`Computed on ${drawn} rows.`).first().waitFor();
  await accessible(page);

  await go(page, "One row");
  await type(page.getByLabel("Row of the table, from 0"), "999999");
  const nearest = page.getByRole("region", { name: "Nearest rows" });
  await nearest.locator("tbody tr", { hasText: /^999,9990/ }).waitFor();
  await accessible(page);
  await page.close();
});
