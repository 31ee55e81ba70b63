import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, choose, explain, firstHouses, go, MIAMI, open, picture } from "./browser";

const LOOKS = [
  { width: 1400, colorScheme: "dark" },
  { width: 800, colorScheme: "light" },
  { width: 390, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
] as const;

/** Pixels that a chart has on every screen that has them. */
const ROOM = 450;

for (const { width, colorScheme } of LOOKS) {
  test(`nothing is wider than ${width} pixels, in ${colorScheme} colours`, async () => {
    const page = await open("", { viewport: { width, height: 900 }, colorScheme });
    const looked = async (name: string) => {
      const found = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(found <= width, `${name} is ${found} pixels wide`);
      await accessible(page);
      const scales = await page.locator("figure.drawn svg.marks").evaluateAll((all) =>
        all.map((each) => {
          const drawn = each as SVGSVGElement;
          return drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width;
        }),
      );
      assert.ok(Math.min(1, ...scales) > 0.65, `text of ${name} is too small: ${scales}`);
      await picture(page, `${name}-${width}-${colorScheme}`);
    };
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
    await go(page, "Compare");
    await page.getByLabel("File of the table").setInputFiles(firstHouses());
    await page.getByText(/^It explains both sides, which takes/).waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("heading", { name: "What has changed" }).waitFor();
    await page.locator("figure.drawn").first().waitFor();
    await looked("compare");
    await go(page, "Share");
    await page.locator("figure.drawn").first().waitFor();
    await looked("share");
    await page.close();
  });
}
