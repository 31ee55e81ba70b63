// Bundles the page and the library of reports into dist/, or with the argument `tests` the unit tests into build/.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import { licencesOf } from "./licences.mjs";

async function buildTests() {
  rmSync("build", { recursive: true, force: true });
  const entryPoints = readdirSync("tests", { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `tests/${name}`);
  await build({
    entryPoints,
    outdir: "build/tests",
    outbase: "tests",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["playwright-core", "@axe-core/playwright", "esbuild"],
    loader: { ".css": "text" },
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "warning",
  });
}

async function buildPage() {
  rmSync("dist", { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: ["src/main.tsx"],
    outdir: "dist",
    entryNames: "page/[name]-[hash]",
    chunkNames: "page/[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "linked",
    metafile: true,
    logLevel: "warning",
  });
  const [script, made] = Object.entries(metafile.outputs).find(([, output]) =>
    output.entryPoint?.endsWith("main.tsx"),
  );
  // What the script imports at once is asked for beside it, and not after it.
  const parts = made.imports.filter(({ kind }) => kind === "import-statement");
  const preloads = parts.map(
    ({ path }) => `<link rel="modulepreload" href="page/${basename(path)}">`,
  );
  const page = readFileSync("index.html", "utf8")
    .replace("%PARTS%", preloads.join("\n"))
    .replace("%SCRIPT%", `page/${basename(script)}`)
    .replace("%LICENCES%", licencesFile(metafile))
    .replace("%STYLE%", `page/${basename(made.cssBundle)}`);
  writeFileSync("dist/index.html", page);
}

/** Bundle what reports draw with as one classic script, which stands in each of their files. */
async function buildReportLibrary() {
  await build({
    entryPoints: ["src/charts/report_library.ts"],
    outfile: "dist/report/vega.js",
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022"],
    legalComments: "inline",
    logLevel: "warning",
  });
}

/** Write the licences beside the bundle, under a name with a digest like all that is kept for ever. */
function licencesFile({ inputs }) {
  const text = licencesOf(inputs);
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase();
  const path = `page/licences-${digest}.txt`;
  mkdirSync("dist/page", { recursive: true });
  writeFileSync(`dist/${path}`, text);
  return path;
}

if (process.argv[2] === "tests") {
  await buildTests();
} else {
  await buildPage();
  await buildReportLibrary();
}
