// Bundles the page into dist/, or with the argument `tests` the unit tests into build/.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";

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
    external: ["playwright-core", "@axe-core/playwright"],
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
    .replace("%STYLE%", `page/${basename(made.cssBundle)}`);
  mkdirSync("dist", { recursive: true });
  writeFileSync("dist/index.html", page);
}

await (process.argv[2] === "tests" ? buildTests() : buildPage());
