/** The examples of the README and of other pages, and the files that they are about. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const PACKAGE = new URL("../../../", import.meta.url);

/** A model of two features, whatever they are called. */
export const MODEL = fileURLToPath(new URL("../../tests/models/half.onnx", PACKAGE));

/** Rows for it. */
export const TABLE = `age,bmi\n${Array.from({ length: 40 }, (_, i) => `${i % 7},${i % 5}`).join("\n")}\n`;

/** The examples of a page in one language, in their order. */
export async function examples(language: "ts" | "js", page = "README.md"): Promise<string[]> {
  const text = await readFile(new URL(page, PACKAGE), "utf8");
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"));
  return [...blocks].map(([, code = ""]) => code);
}
