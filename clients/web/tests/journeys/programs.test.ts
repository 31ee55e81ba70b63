import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { choose, explain, file, open } from "./browser";

const NAMES = { curl: "asked.sh", Python: "asked.py", Go: "asked.go", TypeScript: "asked.mjs" };

test("programs that ask the same are shown to be copied", async () => {
  const page = await open();
  await choose(page, file("fruit.onnx"), file("fruit.csv"));
  await page.getByLabel("Class to explain").selectOption("unripe");
  await explain(page);
  await page.getByText("The request, to copy").click();
  for (const [language, name] of Object.entries(NAMES)) {
    await page.getByRole("radio", { name: language, exact: true }).check();
    const text = await page.locator("details.code pre").textContent();
    writeFileSync(`${process.env.ONNXPLAIN_PROGRAMS}/${name}`, text ?? "");
  }
  await page.close();
});
