import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { accessible, choose, explain, file, go, kept, MIAMI, open, picture, type } from "./browser";

/** The card of what each feature adds to the prediction of a row. */
function partsOf(page: Page): Locator {
  const heading = page.getByRole("heading", { name: "Parts of the features" });
  return page.locator("section.card", { has: heading });
}

test("Miami in three clicks, then to a pair, a row and a report", async () => {
  const page = await open();
  await accessible(page);
  await choose(page, `${MIAMI}miami.onnx`, `${MIAMI}miami_housing.csv.gz`);
  await page.getByText("13,932 rows, 17 columns").waitFor();
  await page.getByText("6 columns feed the model, by the names that the model carries.").waitFor();
  await accessible(page);

  await page.getByText(/^The overview takes .* and sums over the model's trees/).waitFor();
  await page.getByText("the model seems to predict the logarithm of SALE_PRC").waitFor();
  await page
    .getByText("This server keeps no operations: the overview ends with this page.")
    .waitFor();
  assert.equal(await page.getByText("By address").count(), 0, "an address that no server reads");
  await picture(page, "start");
  await explain(page);
  const summary = page.getByRole("note", { name: "Summary" });
  await summary.getByText(/^miami\.onnx predicts .+; it is explained on/).waitFor();
  assert.ok((await summary.getByRole("listitem").count()) > 2, "sentences on what was found");
  const [told, drawn] = [summary, page.locator("figure").first()];
  const heights = await Promise.all(
    [told, drawn].map(async (each) => (await each.boundingBox())?.y),
  );
  assert.ok((heights[0] ?? Infinity) < (heights[1] ?? 0), "the sentences stand before the charts");
  await accessible(page);
  await picture(page, "overview");

  await go(page, "Interactions");
  const matrix = page.locator("figure[aria-label^='Importances and interactions']");
  await matrix.locator(".role-legend-title").nth(1).waitFor({ state: "attached" });
  const bars = page.locator("figure[aria-label^='Interactions of pairs'] .mark-rect path");
  await bars.first().click();
  await page.waitForURL(/explore\/features\//);
  await page.getByRole("button", { name: "Compute" }).first().click();
  await page.locator("figure.drawn").first().waitFor();
  await accessible(page);
  await picture(page, "pair");

  await go(page, "One row");
  const prediction = page.locator(".prediction");
  const before = await prediction.textContent();
  const parts = partsOf(page);
  await parts.getByText(/^Row 0 has a prediction of .+, mostly by /).waitFor();
  const waterfall = parts.locator("figure.drawn[aria-label*='for row 0']");
  await waterfall.locator(".mark-rect path").first().waitFor({ state: "attached" });
  await type(page.getByLabel("OCEAN_DIST", { exact: true }), "500");
  await page.waitForFunction(
    (text) => document.querySelector(".prediction")?.textContent !== text,
    before,
  );
  await parts.getByText(/^The given row has a prediction of .+OCEAN_DIST = 500 /).waitFor();
  await parts.locator("figure.drawn[aria-label*='for the given row']").waitFor();
  await page.getByText("Nearest rows", { exact: true }).waitFor();
  await accessible(page);
  await picture(page, "row");

  await go(page, "Share");
  await page.getByLabel("Notes of your own").fill("Looked at <b>twice</b>.");
  await accessible(page);
  const report = await kept(page, "Report as one HTML file");
  assert.ok(report.length < 2_000_000);
  assert.match(report, /Looked at &lt;b&gt;twice&lt;\/b&gt;\./);
  await page.close();
});

test("a classifier with a column of text, its target and a class", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByText("The column state may be the target.").waitFor();
  await page.getByRole("button", { name: "Use it as target" }).click();
  await page.getByLabel("Class to explain").selectOption("unripe");

  await explain(page);
  await page.getByRole("heading", { name: "Permutation importance" }).waitFor();

  await go(page, "Swarm");
  await page.getByRole("button", { name: "Compute" }).click();
  await page.getByRole("heading", { name: "How these numbers were made" }).waitFor();
  await accessible(page);

  await go(page, "One row");
  await page.getByLabel("color", { exact: true }).selectOption("blue");
  await page.getByRole("heading", { name: "Its curve over color" }).waitFor();
  await page.locator("figure.drawn .mark-rect path").first().waitFor();
  const parts = partsOf(page);
  await parts.getByText(/asks the model for .+ predictions/).waitFor();
  await parts.getByRole("button", { name: "Compute" }).click();
  await parts.getByText(/^Row 0 has a prediction of .+, mostly by /).waitFor();
  await accessible(page);

  await go(page, "Explore");
  await go(page, "size");
  await page.getByRole("region", { name: "Parts in predictions" }).waitFor();
  await accessible(page);
  await page.close();
});

test("a dark phone has nothing that is wider than its screen", async () => {
  const page = await open("", { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await explain(page);
  await accessible(page);
  await picture(page, "phone");
  for (const room of ["Model and table", "One row", "Compare", "Share"]) {
    await go(page, room);
    await page.waitForLoadState("networkidle");
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${room} is ${width} pixels wide`);
    await accessible(page);
  }
  await page.close();
});
