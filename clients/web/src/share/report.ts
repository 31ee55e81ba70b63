/** A report as one HTML file, which runs nothing and loads nothing. */

import type { v1 } from "onnxplain/rest";
import look from "../../../../service/onnxplain_server/report/look.css" with { type: "text" };
import style from "../../../../service/onnxplain_server/report/page.css" with { type: "text" };
import { number } from "../common/formats";
import { moreFigures } from "../common/key_figures";
import { clipped, plain } from "../common/name";
import { RULES } from "../common/rules";
import type { Statistics } from "../explore/tables";
import type { Cell } from "../tables/grid";
import { type Contents, type Picture, ROWS, type Section, SIGNS } from "./contents";

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** Bytes that a report never reaches. */
export const LARGEST = 2_000_000;

/** Bytes that are left for pictures beside what is written. */
export function roomOf(contents: Contents): number {
  return LARGEST - new TextEncoder().encode(reportOf(contents)).length;
}

/** Write the file. */
export function reportOf(contents: Contents): string {
  const { title, notes, summary, keyFigures, warnings, sections, receipt } = contents;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="onnxplain">
<title>${escaped(title)}</title>
<style>
${look}${style}
.plot img { max-width: 100%; height: auto; }
.notes { white-space: pre-wrap; }
</style>
</head>
<body>
<header><h1>${escaped(title)}</h1>${found(summary, keyFigures)}</header>
<main>
${notes === "" ? "" : `<section><h2>Notes</h2><p class="notes">${escaped(notes)}</p></section>`}
${warnings.length === 0 ? "" : `<aside aria-label="Warnings"><h2>Before you trust the numbers</h2>${list(warnings)}</aside>`}
${sections.map(sectionOf).join("\n")}
<section id="receipt"><h2>How these numbers were made</h2>${list(receipt)}</section>
</main>
<footer>Made by onnxplain. This page is complete in itself and loads nothing.</footer>
</body>
</html>
`;
}

/** The summary: the sentences that lead, the key figures, and the others below. */
function found(sentences: readonly string[], figures: readonly v1.KeyFigure[]): string {
  const leading = sentences.slice(0, RULES.leading_sentences);
  const others = sentences.slice(leading.length);
  const lead = leading.map((each) => `<p class="found"><bdi>${escaped(each)}</bdi></p>`);
  const first = `${lead.join("")}${tiles(figures)}`;
  return others.length === 0 ? first : `${first}<div class="found">${list(others)}</div>`;
}

function tiles(figures: readonly v1.KeyFigure[]): string {
  if (figures.length === 0) return "";
  const each = figures
    .slice(0, RULES.most_key_figures)
    .map(
      ({ name, value, unit, comparison }) =>
        `<div><dt><bdi>${escaped(name)}</bdi></dt><dd><b>${escaped(value)}</b> <bdi>${escaped(unit)}</bdi></dd>${comparison === "" ? "" : `<dd>${escaped(comparison)}</dd>`}</div>`,
    );
  const more = moreFigures(figures);
  const note = more === "" ? "" : `<p class="note">${more}</p>`;
  return `<dl class="key-figures" aria-label="Key figures">${each.join("")}</dl>${note}`;
}

function sectionOf(section: Section): string {
  const { title, question, pictures, leftOut, tables, limits } = section;
  const more = leftOut > 0 ? `<p class="note">${leftOut} more charts are left out.</p>` : "";
  return `<section>
<h2>${escaped(title)}</h2>
<p class="question">${escaped(question)}</p>
<div class="figures">${pictures.map(figureOf).join("")}</div>
${more}
<div class="tables">${tables.map(tableOf).join("")}</div>
<div class="limits"><h3>${escaped(title)}: when not to rely on it</h3>${list(limits)}</div>
</section>`;
}

/** As a picture, which runs no script whatever is in it. */
function figureOf({ description, svg }: Picture): string {
  const bytes = new TextEncoder().encode(svg);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  const address = `data:image/svg+xml;base64,${btoa(text)}`;
  return `<figure><div class="plot"><img src="${address}" alt="${escaped(description)}"></div></figure>`;
}

function tableOf({ title, note = "", columns, rows }: Statistics): string {
  const head = columns
    .map((name, column) => {
      const kind = rows.some((row) => typeof row[column] === "number") ? ' class="number"' : "";
      return `<th scope="col"${kind}>${escaped(clipped(name, SIGNS))}</th>`;
    })
    .join("");
  const body = rows
    .slice(0, ROWS)
    .map((row) => `<tr>${row.map(cellOf).join("")}</tr>`)
    .join("\n");
  const more =
    rows.length > ROWS ? `<p class="note">${rows.length - ROWS} more rows are left out.</p>` : "";
  return `<div class="table"><table><caption><b>${escaped(title)}</b> <span class="note">${escaped(note)}</span></caption>
<thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>${more}</div>`;
}

function cellOf(cell: Cell): string {
  if (typeof cell === "string") return `<td><bdi>${escaped(clipped(cell, SIGNS))}</bdi></td>`;
  return `<td class="number">${number(cell)}</td>`;
}

function list(texts: readonly string[]): string {
  return `<ul>${texts.map((text) => `<li><bdi>${escaped(text)}</bdi></li>`).join("")}</ul>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text that is text wherever it stands, with signs that cannot be seen shown as such. */
function escaped(text: string): string {
  return text
    .split("\n")
    .map((line) => plain(line).replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? ""))
    .join("\n");
}
