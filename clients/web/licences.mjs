// Texts of the licences of all packages that a bundle holds.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** The folders of the packages among the inputs of a bundle. */
export function packagesOf(inputs) {
  const found = Object.keys(inputs).flatMap((path) => PACKAGE.exec(path)?.[0] ?? []);
  return [...new Set(found)].sort();
}

const BUF = "@bufbuild/protobuf";

/** Its package has no file of licences: Apache's is ours, and the other one heads a source. */
function licencesOfBuf(folder) {
  const [head] = readFileSync(join(folder, "dist/esm/wire/varint.js"), "utf8").split(
    /^(?!\/\/)/m,
    1,
  );
  if (!head.includes("Redistribution and use")) throw new Error(`the licences of ${BUF} moved`);
  return [readFileSync("../../LICENSE", "utf8").trim(), head.replace(/^\/\/ ?/gm, "").trim()];
}

function textsOf(name, folder) {
  if (name === BUF) return licencesOfBuf(folder);
  const files = readdirSync(folder).filter((file) => FILE.test(file));
  if (files.length === 0) throw new Error(`${folder} has no text of its licence`);
  return files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
}

/** Each package with its version, the name of its licence, and its text; fails where one has none. */
export function licencesOf(inputs) {
  const parts = packagesOf(inputs).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json")));
    return `${name} ${version} (${license})\n\n${textsOf(name, folder).join("\n\n")}\n`;
  });
  return `The page holds these packages:\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
