import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import {
  accessible,
  choose,
  compare,
  file,
  fits,
  go,
  houses,
  LOOKS,
  MIAMI,
  open,
  picture,
  shortened,
} from "./browser";

/** The row of a number that is compared. */
function numberOf(page: Page, statistic: string): Locator {
  const table = page.getByRole("region", { name: "Numbers", exact: true });
  return table.getByRole("row").filter({ hasText: statistic });
}

test("another model on the same rows: what has changed, and a question that has", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByRole("button", { name: "Use it as target" }).click();
  await go(page, "Compare");
  await page.getByText("The same rows, of fruit.csv").waitFor();
  await accessible(page);
  await page.getByLabel("File of the model").setInputFiles(file("fruit-later.onnx"));
  await page.getByText("Before: fruit.onnx. After: fruit-later.onnx.").waitFor();
  await page.getByText("The true values of both are in the column state.").waitFor();
  await compare(page);

  const summary = page.getByRole("note", { name: "Summary" });
  await summary.getByText(/^Importance of size .*rose from /).waitFor();
  await page.getByText("Both sides have the same table and seed").waitFor();
  const cells = await numberOf(page, "importance of size for unripe")
    .getByRole("cell")
    .allInnerTexts();
  const [, before, after, change] = cells.map(Number);
  assert.ok(Math.abs((after ?? 0) - (before ?? 0) - (change ?? 0)) < 1e-3, `changed: ${cells}`);
  assert.ok((change ?? 0) > 0.3, `changed: ${cells}`);
  assert.equal(cells.at(-1), "changed");
  await numberOf(page, "average loss for unripe").waitFor();
  await page.locator("figure.drawn[aria-label^='Change of importance']").first().waitFor();
  await accessible(page);

  // What was compared with the model is not what is compared with the table.
  await page.getByRole("button", { name: "Stay with the same model" }).click();
  assert.equal(await page.getByRole("heading", { name: "What has changed" }).count(), 0);
  await page.getByLabel("File of the table").setInputFiles(file("other.csv"));
  const refused = page.getByRole("alert").filter({ hasText: "The explanation after" });
  await refused.getByText("size").first().waitFor();
  await accessible(page);
  await page.getByLabel("File of the table").setInputFiles(shortened("fruit.csv", 20));
  await page.getByText("What was found before is kept").waitFor();
  await compare(page);
  await page
    .getByText(/independent/)
    .first()
    .waitFor();

  await go(page, "Model and table");
  await page.getByLabel("Target: the true values").selectOption("");
  await go(page, "Compare");
  await page.getByText("No losses are compared: the question has no target.").waitFor();
  assert.equal(await page.getByRole("heading", { name: "What has changed" }).count(), 0);

  // The address holds what is compared, and the same file is told.
  await page.reload();
  await page.getByText("After: short-fruit.csv.").waitFor();
  await page.getByLabel("File of the table").setInputFiles(file("fruit.csv"));
  await page.getByText("nothing can have changed").waitFor();
  await page.close();
});

test("a comparison is cancelled by its reader, and by going on to other sides", async () => {
  const page = await open();
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  await go(page, "Compare");
  const short = shortened("neighbours.csv", 1);
  const run = page.getByRole("region", { name: "Computation" });
  const begin = async () => {
    await page.getByLabel("File of the table").setInputFiles(short);
    await page.getByText(/^It explains both sides, which takes/).waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await run.getByText("Comparison: before, 1 of 2", { exact: true }).waitFor();
  };
  await begin();
  await run.getByRole("button", { name: "Cancel" }).click();
  await run.waitFor({ state: "detached" });
  await begin();
  await page.getByRole("button", { name: "Stay with the same rows" }).click();
  await run.waitFor({ state: "detached" });
  assert.equal(await page.getByRole("heading", { name: "What has changed" }).count(), 0);
  await page.close();
});

test("what has changed between houses fits every screen", async () => {
  const page = await open();
  await choose(page, `${MIAMI}miami.onnx`, houses(0, 1_000));
  await page.getByText("1,000 rows, 17 columns").waitFor();
  await go(page, "Compare");
  await page.getByLabel("File of the table").setInputFiles(houses(9_000, 1_000));
  await compare(page);
  await page.locator("figure.drawn").first().waitFor();
  await page.waitForFunction(() => document.querySelector("#page figure:not(.drawn)") === null);
  const found = page.getByRole("heading", { name: "What has changed" });
  const seen = () => found.evaluate((heading) => heading.scrollIntoView());
  await seen();
  await picture(page, "compare");
  for (const { width, colorScheme } of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await seen();
    await fits(page, "compare", width, colorScheme);
  }
  await page.close();
});
