import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { build } from "esbuild";

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const GRANTS =
  /Permission is hereby granted|Redistribution and use in source|Apache License|Permission to use, copy/;

/** Names and versions of the packages of which the bundle has code. */
async function held(): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: ["src/main.tsx"],
    outdir: "none",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  const folders = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .flatMap(([path]) => PACKAGE.exec(path)?.[0] ?? []),
  );
  return [...new Set(folders)].map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return `${name} ${version}`;
  });
}

test("the page brings the licence of each package that it holds", async () => {
  const [file] = readdirSync("dist/page").filter((name) => name.startsWith("licences-"));
  assert.match(readFileSync("dist/index.html", "utf8"), new RegExp(`href="page/${file}"`));
  const parts = readFileSync(`dist/page/${file}`, "utf8").split("-".repeat(80));
  const packages = await held();
  assert.ok(packages.some((name) => name.startsWith("vega ")) && packages.length > 20);
  for (const name of packages) {
    const part = parts.find((text) => text.includes(`${name} (`));
    assert.match(part ?? "", GRANTS, `no licence of ${name}`);
  }
});

test("the first view, without charts, is smaller than 300 kB compressed", async () => {
  const { gzipSync } = await import("node:zlib");
  const page = readFileSync("dist/index.html", "utf8");
  const names = [...page.matchAll(/(?:src|stylesheet" href|modulepreload" href)="([^"]+)"/g)];
  assert.ok(names.length > 1, page);
  const files = ["index.html", ...names.map(([, path]) => path)];
  const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(`dist/${path}`)).length, 0);
  assert.ok(bytes < 300_000, `${bytes} bytes`);
});
