/** The examples for Node do what the README says, against the server of the environment. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { examples, MODEL, TABLE } from "./readme.js";

const ENDPOINT = process.env.ONNXPLAIN_ENDPOINT ?? "";
const run = promisify(execFile);
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "readme-"));
  await copyFile(MODEL, join(folder, "model.onnx"));
  await writeFile(join(folder, "rows.csv"), TABLE);
  await writeFile(join(folder, "rows.csv.gz"), gzipSync(TABLE));
});

after(() => rm(folder, { recursive: true }));

/** Run an example where its files are; beside this file, so that it finds the package. */
async function printed(code: string): Promise<string> {
  const program = fileURLToPath(new URL(`example_${Date.now()}.js`, import.meta.url));
  await writeFile(program, code.replace("localhost:8081", ENDPOINT));
  try {
    return (await run(process.execPath, [program], { cwd: folder })).stdout;
  } finally {
    await rm(program);
  }
}

test("the first example prints the interactions", async () => {
  const [first = ""] = await examples("ts");

  assert.match(await printed(first), /^age x bmi \[ /);
});

test("the example of an operation prints its plan and its answer", async () => {
  const [, second = ""] = await examples("ts");

  assert.match(await printed(second), /^\d+ rows to predict\nSUCCEEDED 2\n$/);
});

test("the lines of the page of long-running explanations run", async () => {
  const [lines = ""] = await examples("ts", "../../docs/long-running.md");
  const before = 'import { connect } from "onnxplain"; const client = connect("localhost:8081");';
  const after = 'console.log(explanation.result("interactions").overall.length); client.close();';

  assert.equal(await printed(`${before}\n${lines}\n${after}`), "2\n");
});

test("the example of an error prints reason and field", async () => {
  const [, , third = ""] = await examples("ts");

  const reason = "UNKNOWN_FEATURE methods[0].interactions.features 'agee' is no feature";
  assert.ok((await printed(third)).startsWith(reason));
});

test("the example program names the strongest interaction of Miami's houses", async () => {
  const program = fileURLToPath(new URL("../../examples/miami.js", import.meta.url));

  const { stdout, stderr } = await run(process.execPath, [program, ENDPOINT]);

  assert.match(stdout, /^Strongest interaction: TOT_LVG_AREA x structure_quality, 0\.05\d\d \(/);
  assert.match(stderr, /(\d+) of \1 rows are predicted\n$/);
});
