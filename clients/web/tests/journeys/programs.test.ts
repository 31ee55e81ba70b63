import { writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { choose, explain, file, open } from "./browser";

const NAMES = {
  JSON: "asked.json",
  curl: "asked.sh",
  Python: "asked.py",
  Go: "asked.go",
  Java: "Asked.java",
  TypeScript: "asked.mjs",
};
const PAIR: readonly string[] = JSON.parse(process.env.ONNXPLAIN_PAIR ?? "[]");

/** Copy the request of a page in all languages. */
async function copy(page: Page, folder: string): Promise<void> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByText("The request, to copy").click();
  for (const [language, name] of Object.entries(NAMES)) {
    await page.getByRole("radio", { name: language, exact: true }).check();
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByText("Copied.").waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    writeFileSync(`${process.env.ONNXPLAIN_PROGRAMS}/${folder}/${name}`, text);
  }
}

test("programs that ask for an overview are copied", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByLabel("Class to explain").selectOption("unripe");
  await explain(page);
  await copy(page, "overview");
  await page.close();
});

test("programs that ask for the surface of hostile names are copied", async () => {
  const page = await open();
  const model = file('<img src=x onerror="window.broken = 1">.onnx');
  await choose(page, model, file("hostile.csv"));
  await page.getByText("120 rows, 8 columns").waitFor();
  const path = ["explore", "features", ...PAIR].map(encodeURIComponent).join("/");
  await page.goto(page.url().replace("#/start", `#/${path}`));
  await copy(page, "surface");
  await page.close();
});
