// Times of the page in Chromium, as JSON: its first view on a narrow line, and clicks.
// Usage: node bench/speed.mjs ADDRESS MODEL TABLE, from clients/web
import { chromium } from "playwright-core";

const [, , address, model, table] = process.argv;
const LINE = {
  offline: false,
  latency: 60,
  downloadThroughput: 9e6 / 8,
  uploadThroughput: 9e6 / 8,
};
const VIEWS = 5;
const CLICKS = 5;
const QUIET_MS = 500;
const PATIENCE_MS = 60_000;

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function opened() {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  return page;
}

/** Milliseconds from the first byte of the answer to the first view, and its bytes. */
async function firstView() {
  const page = await opened();
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", LINE);
  await page.goto(address);
  await page.getByRole("heading", { name: "See what a model has learned" }).waitFor();
  await page.waitForLoadState("networkidle");
  const found = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    const files = [navigation, ...performance.getEntriesByType("resource")];
    return {
      milliseconds: paint.startTime - navigation.responseStart,
      bytes: files.reduce((sum, { transferSize }) => sum + transferSize, 0),
    };
  });
  await page.context().close();
  return found;
}

/** Watch how long events take from the input to the next picture, and tasks that hold others up. */
async function watch(page) {
  await page.evaluate(() => {
    window.events = [];
    window.tasks = [];
    const observe = (type, list, more = {}) =>
      new PerformanceObserver((found) => list.push(...found.getEntries().map(plain))).observe({
        type,
        ...more,
      });
    const plain = ({ name, duration, interactionId = 0 }) => ({ name, duration, interactionId });
    observe("event", window.events, { durationThreshold: 16 });
    observe("longtask", window.tasks);
  });
}

/** The longest event of one interaction, and the longest task until all is quiet. */
async function timed(page, act) {
  await page.evaluate(() => {
    window.events.length = 0;
    window.tasks.length = 0;
  });
  await act();
  let count = -1;
  for (;;) {
    await page.waitForTimeout(QUIET_MS);
    const now = await page.evaluate(
      () => window.tasks.length + document.querySelectorAll("*").length,
    );
    if (now === count) break;
    count = now;
  }
  return page.evaluate(() => {
    const longest = (list) => Math.max(0, ...list.map(({ duration }) => duration));
    const own = window.events.filter(({ interactionId }) => interactionId > 0);
    return { event: longest(own), task: longest(window.tasks) };
  });
}

async function emptyPage() {
  const page = await opened();
  await page.goto("about:blank");
  await page.setContent("<button>0</button>");
  await watch(page);
  await page.evaluate(() => {
    const button = document.querySelector("button");
    button.onclick = () => {
      button.textContent = `${Number(button.textContent) + 1}`;
    };
  });
  const found = [];
  for (let turn = 0; turn < CLICKS; turn += 1) {
    found.push(await timed(page, () => page.locator("button").click()));
  }
  await page.context().close();
  return found;
}

const link = (page, name) => page.getByRole("link", { name, exact: true }).first();

async function clicks() {
  const page = await opened();
  await page.goto(address);
  await page.getByLabel("File of the model").setInputFiles(model);
  await page.getByLabel("File of the table").setInputFiles(table);
  await page.getByRole("button", { name: "Use it as target" }).click();
  await page.getByText(/^The overview takes/).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.getByRole("heading", { name: "How these numbers were made" }).waitFor();
  await link(page, "Partial dependence").click();
  await page.getByRole("button", { name: /^Compute/ }).click();
  await page.locator("section.run").waitFor({ state: "attached" });
  await page.locator("section.run").waitFor({ state: "detached" });
  await watch(page);
  const found = {};
  let charts = 0;
  const acts = {
    "to the overview": () => link(page, "Overview").click(),
    "to the interactions": () => link(page, "Interactions").click(),
    "order of a table": () => page.locator("th button.sort").nth(1).click(),
    "letter of a search": () => page.locator(".table input[type=search]").first().press("9"),
    "to the curves": () => link(page, "Partial dependence").click(),
    "more curves": () => page.getByRole("button", { name: /^Show more of .* charts$/ }).click(),
    "data of a chart": () =>
      page
        .getByRole("button", { name: /^Table/ })
        .first()
        .click(),
    "to a feature": () => page.locator(".contents a[href*='/feature/']").first().click(),
    "to a row": () => link(page, "One row").click(),
    "to what is shared": () => link(page, "Share").click(),
    "to all again": () => link(page, "Explore").click(),
  };
  for (const name of Object.keys(acts)) found[name] = [];
  for (let turn = 0; turn < CLICKS; turn += 1) {
    for (const [name, act] of Object.entries(acts)) {
      found[name].push(await timed(page, act));
      charts = Math.max(charts, await page.locator("figure.drawn").count());
    }
  }
  await page.context().close();
  return { charts, found };
}

const views = [];
for (let view = 0; view < VIEWS; view += 1) views.push(await firstView());
const told = { views, empty: await emptyPage(), clicks: await clicks() };
process.stdout.write(JSON.stringify(told));
await browser.close();
