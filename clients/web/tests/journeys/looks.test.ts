import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, explain, fits, go, LOOKS, MIAMI, open } from "./browser";

/** Pixels that a chart has on every screen that has them. */
const ROOM = 450;

for (const { width, colorScheme } of LOOKS) {
  test(`nothing is wider than ${width} pixels, in ${colorScheme} colours`, async () => {
    const page = await open("", { viewport: { width, height: 900 }, colorScheme });
    const looked = (name: string) => fits(page, name, width, colorScheme);
    await choose(page, `${MIAMI}miami.onnx`, `${MIAMI}miami_housing.csv.gz`);
    await page.getByText(/^The overview takes/).waitFor();
    await looked("start");
    await explain(page);
    await looked("overview");
    const figures = await page.locator("figure.drawn").all();
    for (const figure of figures) {
      const room = (await figure.boundingBox())?.width ?? 0;
      assert.ok(room >= Math.min(0.8 * width, ROOM), `a chart has ${room} pixels`);
    }
    await go(page, "One row");
    await page.getByText("Nearest rows", { exact: true }).waitFor();
    await looked("row");
    await go(page, "Share");
    await page.locator("figure.drawn").first().waitFor();
    await looked("share");
    await page.close();
  });
}
