import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { file, open } from "./browser";

/** Press Tab until something of this name has the focus. */
async function reach(page: Page, name: RegExp): Promise<void> {
  for (let press = 0; press < 200; press += 1) {
    await page.keyboard.press("Tab");
    const told = await page.evaluate(() => {
      const { activeElement: element } = document;
      const label = element?.closest("label")?.textContent ?? "";
      const own = element?.matches("a, button, summary") ? element.textContent : "";
      return `${element?.getAttribute("aria-label") ?? ""}|${own}|${label}`;
    });
    if (told.split("|").some((text) => name.test(text.trim()))) return;
  }
  assert.fail(`nothing called ${name} is reached by Tab`);
}

test("a model is chosen, explained, explored and moved without a mouse", async () => {
  const page = await open();
  // Somebody who always listens: else the browser may open a dialog of its own between two files.
  page.on("filechooser", () => undefined);
  for (const [button, name] of [
    [/^Choose a model/, "fruit.onnx"],
    [/^Choose a table/, "fruit.csv"],
  ] as const) {
    await reach(page, button);
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.keyboard.press("Enter"),
    ]);
    await chooser.setFiles(file(name));
  }
  await page.getByText(/^The overview takes/).waitFor();
  await reach(page, /^Start the overview$/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "How these numbers were made" }).waitFor();

  await reach(page, /^Interactions$/);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Interactions", level: 1 }).waitFor();
  // The pairs are links of a table, too.
  await reach(page, / × /);
  await page.keyboard.press("Enter");
  await page.waitForURL(/explore\/features\//);

  await reach(page, /^One row$/);
  await page.keyboard.press("Enter");
  await page.locator(".prediction").first().waitFor();
  const before = await page.locator(".prediction").allTextContents();
  await reach(page, /^Move size$/);
  await page.keyboard.press("End");
  await page.waitForFunction((texts) => {
    const now = [...document.querySelectorAll(".prediction")].map((each) => each.textContent);
    return JSON.stringify(now) !== JSON.stringify(texts);
  }, before);
  await page.close();
});
