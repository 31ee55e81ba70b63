import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { Picture } from "../../src/share/contents";
import { reportOf } from "../../src/share/report";
import { accessible, choose, explain, file, go, open } from "./browser";

/** The texts of the sheets that a page is printed on. */
async function sheets(page: Page, landscape = false): Promise<string[]> {
  const path = join(mkdtempSync(join(tmpdir(), "sheets-")), "printed.pdf");
  await page.pdf({ path, format: "A4", landscape });
  const { stdout, stderr, status } = spawnSync("pdftotext", ["-layout", path, "-"], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return stdout.split("\f");
}

/** A chart is whole where its title and the name below its axis are on one sheet. */
function uncut(printed: readonly string[]): number {
  const title = /Partial dependence of \w+ on (measurement_\d+)/g;
  let found = 0;
  for (const sheet of printed) {
    for (const [, name] of sheet.matchAll(title)) {
      assert.match(sheet, new RegExp(`^\\s*${name}\\s*$`, "m"), `the curve of ${name} is cut`);
      found += 1;
    }
  }
  return found;
}

test("a report of 50 features opens without network, is small, and prints uncut", async () => {
  const page = await open();
  await choose(page, file("wide.onnx"), file("wide.csv"));
  await page.getByRole("button", { name: "Use it as target" }).click();
  await explain(page);
  await go(page, "Partial dependence");
  await page.getByRole("button", { name: /^Compute/ }).click();
  await page.getByRole("button", { name: "Show more of 51 charts" }).waitFor();
  await go(page, "Share");
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Report as one HTML file" }).click(),
  ]);
  await page.waitForFunction(() => document.querySelector("#page figure:not(.drawn)") === null);
  assert.ok(uncut(await sheets(page)) > 12, "the printed page lacks curves");
  // A browser takes a file for a page by its ending.
  const path = join(mkdtempSync(join(tmpdir(), "report-")), "report.html");
  await saved.saveAs(path);
  await page.close();

  assert.ok(readFileSync(path).length < 2_000_000);
  const reader = await open();
  const asked: string[] = [];
  await reader.context().setOffline(true);
  reader.on("request", (request) => asked.push(request.url()));
  await reader.goto(`file://${path}`);
  const sizes = await reader.evaluate(() =>
    [...document.images].map(({ naturalWidth, naturalHeight }) => naturalWidth * naturalHeight),
  );
  assert.ok(sizes.length > 12 && sizes.every((size) => size > 0), `pictures of sizes ${sizes}`);
  assert.deepEqual(
    asked.filter((address) => !/^(data|file):/.test(address)),
    [],
  );
  await accessible(reader);
  assert.ok(uncut(await sheets(reader)) >= 50, "the printed report lacks curves");
  await reader.close();
});

/** A picture with a text at its upper end and one at its lower end. */
function tall(index: number, height: number): Picture {
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="560" height="${height}" viewBox="0 0 560 ${height}">` +
    `<text x="9" y="40" font-size="30">upper ${index}</text>` +
    `<text x="9" y="${height - 9}" font-size="30">lower ${index}</text></svg>`;
  return { description: `picture ${index}`, svg };
}

test("no picture of a report is cut by the end of a sheet, whatever its height", async () => {
  const pictures = [420, 420, 420, 900, 300, 1500, 600].map((height, k) => tall(k, height));
  const section = { title: "Tall", question: "", limits: [], tables: [], leftOut: 0, pictures };
  const report = reportOf({
    title: "Tall",
    notes: "",
    summary: [],
    keyFigures: [],
    warnings: [],
    receipt: [],
    sections: [section],
  });
  const path = join(mkdtempSync(join(tmpdir(), "report-")), "report.html");
  writeFileSync(path, report);
  const page = await open();
  await page.goto(`file://${path}`);
  for (const isLandscape of [false, true]) {
    const printed = await sheets(page, isLandscape);
    const of = (text: string) => printed.findIndex((sheet) => sheet.includes(text));
    for (const index of pictures.keys()) {
      assert.notEqual(of(`upper ${index}`), -1, `picture ${index} is not printed`);
      assert.equal(of(`upper ${index}`), of(`lower ${index}`), `picture ${index} is cut`);
    }
  }
  await page.close();
});
