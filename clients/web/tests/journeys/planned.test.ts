import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, choose, file, open } from "./browser";

test("what is planned is told from the start on, and after coming back", async () => {
  const page = await open();
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  // Much more than the machine can do while this test looks at it.
  await page.getByLabel("Seconds that an overview may take").fill("86400");
  await page.getByLabel("Seconds that an overview may take").press("Tab");
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  const run = page.getByRole("region", { name: "Computation" });
  assert.match((await run.textContent()) ?? "", / · planned: \d/);
  await page.waitForURL(/operation=/);

  await page.reload();
  await run.getByText(/ · planned: \d/).waitFor();
  await accessible(page);
  await run.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Nothing is computed yet in this page.").waitFor();
  await page.close();
});
