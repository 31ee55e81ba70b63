/** A section of a model card, as Markdown. */

import { number } from "../common/formats";
import { clipped } from "../common/name";
import type { Answer } from "../common/runs";
import { about } from "../explore/methods";
import { tablesOf } from "../explore/tables";
import { summaryOf } from "./contents";

const ROWS = 10;

/** Write the section: sentences, strongest findings of each method, warnings and limits. */
export function cardOf(title: string, notes: string, answers: readonly Answer[]): string {
  const parts = [`## ${text(title)}`];
  if (notes !== "") parts.push(notes.split("\n").map(text).join("\n"));
  const summary = summaryOf(answers);
  if (summary.length > 0) parts.push(summary.map((sentence) => `- ${text(sentence)}`).join("\n"));
  for (const { found } of answers) {
    for (const explanation of found.all) {
      const method = about(explanation.method);
      if (method === undefined) continue;
      parts.push(`### ${method.title}`, method.question);
      for (const table of tablesOf(explanation)) {
        if (table.isPoints) continue;
        parts.push(
          [
            `**${table.title}**`,
            "",
            line(table.columns),
            line(table.columns.map(() => "---")),
            ...table.rows
              .slice(0, ROWS)
              .map((row) =>
                line(row.map((cell) => (typeof cell === "string" ? cell : number(cell)))),
              ),
          ].join("\n"),
        );
      }
      parts.push(`Limits: ${method.limits.join(" ")}`);
    }
    for (const { code, message } of found.warnings) parts.push(`- ${text(message)} (\`${code}\`)`);
    const { receipt } = found;
    if (receipt) {
      parts.push(
        `Computed by onnxplain ${receipt.serverVersion} on at most ${receipt.rowCount} rows of ` +
          `${receipt.tableDigest}, model ${receipt.modelDigest}, seed ${receipt.seed}.`,
      );
    }
  }
  return `${parts.join("\n\n")}\n`;
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => (cell === "---" ? cell : text(cell))).join(" | ")} |`;
}

/** Text without what Markdown and HTML would read as their own. */
function text(value: string): string {
  return clipped(value, 500).replace(/[\\`*_{}[\]<>()#|!&]/g, (sign) => `\\${sign}`);
}
