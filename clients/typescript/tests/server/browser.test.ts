/** The client in Chromium, against the server of the environment. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { examples, MODEL } from "./readme.js";

const CHECKOUT = new URL("../../../../../", import.meta.url);
const MIAMI = path("examples/miami/");
const PATIENCE_MS = 120_000;

let origin: ChildProcess;
let address: string;
let browser: Browser;

before(async () => {
  const program = path("clients/typescript/build/examples/origin.js");
  origin = spawn(process.execPath, [program, process.env.ONNXPLAIN_URL ?? ""]);
  const [line] = await once(origin.stdout ?? assert.fail(), "data");
  address = String(line).trim();
  // Who is root, as in CI, has no sandbox.
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});

after(async () => {
  await browser.close();
  origin.kill();
});

function path(name: string): string {
  return fileURLToPath(new URL(name, CHECKOUT));
}

/** Open the page; whatever it complains about ends the test. */
async function open(): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 800, height: 760 } });
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => assert.fail(error));
  await page.goto(address);
  return page;
}

async function choose(page: Page): Promise<void> {
  await page.setInputFiles("#model", `${MIAMI}miami.onnx`);
  await page.setInputFiles("#table", `${MIAMI}miami_housing.csv.gz`);
}

test("a page explains a model and draws what it found", async () => {
  const page = await open();
  await choose(page);
  const columns = "OCEAN_DIST TOT_LVG_AREA LND_SQFOOT structure_quality age month_sold";
  await page.fill("#features", columns);

  await page.click("text=Explain");
  await page.waitForSelector("#plot svg .mark-group");

  const found = await page.textContent("output");
  assert.equal(found, "Strongest interaction: TOT_LVG_AREA x structure_quality");
  assert.equal(await page.getAttribute("progress", "value"), "1");
  assert.ok((await page.locator("#plot .mark-rect path, #plot .mark-symbol path").count()) > 5);
  assert.ok((await page.textContent("#plot"))?.includes("OCEAN_DIST"));
  const screenshot = process.env.ONNXPLAIN_SCREENSHOT;
  if (screenshot !== undefined) await page.screenshot({ path: screenshot });
  await page.close();
});

test("the example of the README draws in a page", async () => {
  const page = await open();
  await page.setInputFiles("#model", MODEL);
  const [content = ""] = await examples("js");

  await page.addScriptTag({ type: "module", content });

  await page.waitForSelector("#plot svg .mark-group");
  assert.ok((await page.textContent("#plot"))?.includes("bmi"));
  await page.close();
});

test("an operation is started, awaited and read in a page", async () => {
  const page = await open();
  await page.setInputFiles("#model", MODEL);
  const examplesOfPages = await examples("js");

  await page.addScriptTag({ type: "module", content: examplesOfPages[1] ?? assert.fail() });

  await page.waitForFunction(() => document.querySelector("output")?.value !== "");
  assert.match((await page.textContent("output")) ?? "", /^age x bmi$/);
  await page.close();
});

test("a refusal is shown with its reason", async () => {
  const page = await open();
  await choose(page);

  await page.fill("#features", "OCEAN_DIST");
  await page.click("text=Explain");
  await page.waitForFunction(() => document.querySelector("output")?.value.includes("feature"));
  assert.match((await page.textContent("output")) ?? "", /^[A-Z_]+ .*: /);

  await page.close();
});
