/** A browser at the page of the server of the environment. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { gunzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  firefox,
  type Locator,
  type Page,
} from "playwright-core";

export const ADDRESS = `${process.env.ONNXPLAIN_URL}/`;
export const MIAMI = "../../examples/miami/";
const PATIENCE_MS = 120_000;
const SETTLED_MS = 1_000;
const SHOWN_LENGTH = 3_000;

/** Screens that the page is looked at on. */
export const LOOKS = [
  { width: 1400, colorScheme: "dark" },
  { width: 800, colorScheme: "light" },
  { width: 390, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
] as const;

type Look = (typeof LOOKS)[number];

const IS_FIREFOX = process.env.PAGE_BROWSER === "firefox";
const DOWNLOADS = mkdtempSync(join(tmpdir(), "downloads-"));

let browser: Browser;

before(async () => {
  browser = IS_FIREFOX ? await publishedFirefox() : await withoutSandbox();
});

// A journey that ends well closes its pages: of others, the log tells what they showed.
afterEach(async () => {
  for (const context of browser.contexts()) {
    for (const page of context.pages()) process.stdout.write(await shown(page));
    await context.close();
  }
});

after(async () => {
  await browser.close();
  rmSync(DOWNLOADS, { recursive: true });
});

/** What a page shows, as a screen reader is told, but for choices. */
async function shown(page: Page): Promise<string> {
  const all = await page.locator("body").ariaSnapshot({ timeout: SETTLED_MS }).catch(String);
  const text = all.replace(/^\s*- '?option.*\n/gm, "");
  return `${page.url().slice(0, SHOWN_LENGTH)} shows:\n${text.slice(0, SHOWN_LENGTH)}\n`;
}

/** Chromium; who is root, as in CI, has no sandbox. */
function withoutSandbox(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** Firefox as it is published, by WebDriver BiDi; Playwright's own builds speak another protocol. */
function publishedFirefox(): Promise<Browser> {
  const executablePath = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
  return firefox.launch({ channel: "moz-firefox", executablePath, downloadsPath: DOWNLOADS });
}

/** A file of the journeys. */
export function file(name: string): string {
  return `${process.env.ONNXPLAIN_FILES}/${name}`;
}

/** A table of some houses of Miami. */
export function houses(first: number, count: number) {
  const text = gunzipSync(readFileSync(`${MIAMI}miami_housing.csv.gz`)).toString();
  const [header, ...rows] = text.split("\n");
  const buffer = Buffer.from([header, ...rows.slice(first, first + count)].join("\n"));
  return { name: `houses-from-${first}.csv`, mimeType: "text/csv", buffer };
}

/** A table of the journeys but for its last rows. */
export function shortened(name: string, rowCount: number) {
  const lines = readFileSync(file(name), "utf8").trimEnd().split("\n");
  const buffer = Buffer.from(lines.slice(0, lines.length - rowCount).join("\n"));
  return { name: `short-${name}`, mimeType: "text/csv", buffer };
}

/** Open the page; a script or a message of an error ends the test, and so does what the policy refuses. */
export async function open(address = "", options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => assert.fail(error));
  page.on("console", (message) => {
    // Chromium tells here of answers that refuse, too.
    if (message.type() !== "error" || /^Failed to load resource/.test(message.text())) return;
    assert.fail(`the console says: ${message.text()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
      console.error(`${effectiveDirective} refuses ${blockedURI}`);
    });
  });
  page.on("request", (request) => {
    // What the page of a provider loads is its own affair; the way to it is ours.
    if (page.url().startsWith("http") && !page.url().startsWith(ADDRESS)) return;
    assert.match(
      request.url(),
      /^(data|blob|file):|^http:\/\/127\.0\.0\.1:/,
      "a request left the origin",
    );
  });
  await page.goto(`${ADDRESS}${address}`);
  return page;
}

/** Choose files; a table may be one that is made here. */
export async function choose(
  page: Page,
  model: string,
  table: string | ReturnType<typeof houses>,
): Promise<void> {
  await page.getByLabel("File of the model").setInputFiles(model);
  await page.getByLabel("File of the table").setInputFiles(table);
}

/** Type a text over what a field holds, and leave it by Enter. */
export async function type(field: Locator, text: string): Promise<void> {
  await field.press("ControlOrMeta+a");
  await field.pressSequentially(text);
  await field.press("Enter");
}

/** Press a button, and read the file that it has the browser keep. */
export async function kept(page: Page, button: string): Promise<string> {
  const press = () => page.getByRole("button", { name: button }).click();
  if (!IS_FIREFOX) {
    const [saved] = await Promise.all([page.waitForEvent("download"), press()]);
    return readFileSync(await saved.path(), "utf8");
  }
  // Playwright tells nothing of Firefox's downloads from blobs.
  await press();
  for (let turn = 0; turn < PATIENCE_MS / SETTLED_MS; turn += 1) {
    const [name] = readdirSync(DOWNLOADS).filter((each) => !each.endsWith(".part"));
    const text = name === undefined ? "" : readFileSync(join(DOWNLOADS, name), "utf8");
    if (text !== "") return text;
    await page.waitForTimeout(SETTLED_MS);
  }
  assert.fail("the browser keeps no file");
}

/** Start the overview, and wait for its end. */
export async function explain(page: Page): Promise<void> {
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.getByRole("heading", { name: "How these numbers were made" }).waitFor();
  await page.locator("figure.drawn").first().waitFor();
}

/** Compare what is chosen, and wait for what has changed. */
export async function compare(page: Page): Promise<void> {
  await page.getByText(/^It explains both sides, which takes|^What was found before/).waitFor();
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByRole("heading", { name: "What has changed" }).waitFor();
}

/** Go to another room, or page of a room. */
export async function go(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name, exact: true }).first().click();
}

/** Keep a picture for the documents, where that is asked for. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.PAGE_SCREENSHOTS;
  if (folder === undefined) return;
  await page.waitForLoadState("networkidle");
  await page.waitForTimeout(SETTLED_MS);
  await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Nothing is wider than the screen, all is accessible, and text of charts can be read. */
export async function fits(
  page: Page,
  name: string,
  width: Look["width"],
  colorScheme: Look["colorScheme"],
): Promise<void> {
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
}

/** No rule of axe-core is violated by the page, or by this part of it. */
export async function accessible(page: Page, part = "html"): Promise<void> {
  // What is still drawn moves what is looked at.
  await page.waitForFunction(() => document.querySelector("#page figure:not(.drawn)") === null);
  // Axe takes what has no layout yet for white.
  await page.evaluate(() => {
    const whole = new CSSStyleSheet();
    whole.replaceSync(".chart, .table { content-visibility: visible !important; }");
    document.adoptedStyleSheets.push(whole);
  });
  const { violations } = await new AxeBuilder({ page }).include(part).analyze();
  const told = violations.map(
    ({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
  );
  assert.deepEqual(told, []);
}
