/** Models in several files: which files go with a model, and in which order they are sent. */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ExplainError } from "onnxplain";
import { connect, ModelFiles } from "onnxplain/rest";
import { filesOf } from "#internal/external_data.js";
import { openPath } from "#internal/files.js";
import { type Asked, answering, EXPLAINED } from "./answering.js";

/** What a model begins with that has values in files of these names. */
function naming(...names: string[]): Uint8Array {
  const entries = names.map(
    (name) => `\n\x08location\x12${String.fromCharCode(name.length)}${name}`,
  );
  return new TextEncoder().encode(`a model${entries.join("")}`);
}

/** The names and contents of the files that a model is sent as. */
async function sent(source: Parameters<typeof filesOf>[0]): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for await (const { name, content } of filesOf(source)) {
    let text = "";
    for await (const part of content) text += Buffer.from(part).toString();
    found.push([name, text]);
  }
  return found;
}

test("the files of a model go beside it, inline and as an upload", async () => {
  using server = await answering(EXPLAINED, { body: { id: `sha256:${"0".repeat(64)}` } });
  const files = { "w/net.data": new TextEncoder().encode("values") };
  const model = new ModelFiles(naming("w/net.data"), files);
  const client = connect(server.url);

  await client.explain({ model, methods: [{ interactions: {} }] });
  await client.uploadModel(model);

  for (const asked of server.asked) {
    const [file, ...others] = await formFiles(asked);
    assert.equal(others.length, 0);
    assert.equal(await file?.text(), "values");
    assert.match(asked.body.toString("latin1"), /filename="w\/net.data"/);
  }
  assert.deepEqual(
    server.asked.map((each) => each.route),
    ["POST /v1/explanations", "PUT /v1/models"],
  );
});

async function formFiles(asked: Asked): Promise<File[]> {
  const headers = { "Content-Type": asked.headers["content-type"] ?? "" };
  const form = await new Response(new Uint8Array(asked.body), { headers }).formData();
  return form.getAll("model_files") as File[];
}

test("a path brings the files that the model names below its folder, and no others", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "onnxplain-"));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "models", "w"), { recursive: true });
  const path = join(folder, "models", "model.onnx");
  const values = join(folder, "models", "w", "net.data");
  const content = naming("w/net.data", "../secret", "/etc/hostname", "w/net.data");
  await writeFile(path, content);
  await writeFile(values, "values");
  await writeFile(join(folder, "secret"), "secret");

  assert.deepEqual(await sent(openPath(path)), [
    ["", Buffer.from(content).toString()],
    ["w/net.data", "values"],
  ]);

  await rm(values);
  await assert.rejects(sent(openPath(path)), (error: ExplainError) => {
    assert.equal(error.reason, "EXTERNAL_DATA");
    return error.message.includes("w/net.data") && error.message.includes(folder);
  });
  await symlink(join(folder, "secret"), values);
  await assert.rejects(sent(openPath(path)), { reason: "EXTERNAL_DATA" });
});

test("names are found wherever a model is cut into parts", async () => {
  const long = `${"n".repeat(200)}.data`;
  const first = new TextEncoder().encode("\n\x08location\x12");
  const length = Uint8Array.from([(long.length & 0x7f) | 0x80, long.length >> 7]);
  const whole = Buffer.concat([naming("net.data"), first, length, Buffer.from(long)]);
  for (let at = 0; at <= whole.length; at += 1) {
    async function* parts() {
      yield whole.subarray(0, at);
      yield whole.subarray(at);
    }
    let found: readonly string[] = [];
    const beside = async (names: readonly string[]) => {
      found = names;
      return [];
    };
    await sent({ repeatable: true, open: parts, beside });
    assert.deepEqual(found, ["net.data", long], `cut at ${at}`);
  }
});
