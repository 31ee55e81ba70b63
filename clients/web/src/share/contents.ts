/** What a report holds, drawn. */

import type { v1 } from "onnxplain/rest";
import { type Plot, plotsOf } from "../charts/plots";
import { count } from "../common/formats";
import type { Answer } from "../common/runs";
import { doubtsOf, remarksOf } from "../common/warnings";
import { about } from "../explore/methods";
import { type Section as Group, isNumber, sectionsOf } from "../explore/sections";
import { type Statistics, tablesOf } from "../explore/tables";

/** A drawn chart. */
export interface Picture {
  readonly description: string;
  readonly svg: string;
}

/** What a method found. */
export interface Section {
  readonly title: string;
  readonly question: string;
  readonly limits: readonly string[];
  readonly pictures: readonly Picture[];
  readonly tables: readonly Statistics[];

  /** Charts that found no room. */
  readonly leftOut: number;
}

/** A report before it is written. */
export interface Contents {
  readonly title: string;
  readonly notes: string;

  /** The sentences of all answers. */
  readonly summary: readonly string[];
  readonly keyFigures: readonly v1.KeyFigure[];
  readonly warnings: readonly string[];
  readonly sections: readonly Section[];
  readonly receipt: readonly string[];
}

// So many rows of a table, and signs of a name; the report tells what it leaves out.
export const ROWS = 200;
export const SIGNS = 80;

/** What the answers hold, without pictures. */
export function contentsOf(title: string, notes: string, answers: readonly Answer[]): Contents {
  const sections = groupsOf(answers).map((group): Section => {
    const method = about(group[0]?.method);
    return {
      title: method?.title ?? "Explanation",
      question: method?.question ?? "",
      limits: method?.limits ?? [],
      pictures: [],
      leftOut: chartsOf(group).length,
      tables: group.flatMap(tablesOf).filter(({ isPoints }) => !isPoints),
    };
  });
  const all = answers.flatMap(({ found }) => [...found.warnings]);
  const doubts = doubtsOf(all).map(({ message }) => message);
  const remarks = remarksOf(all).map(({ message }) => message);
  return {
    title,
    notes,
    summary: summaryOf(answers),
    sections,
    keyFigures: keyFiguresOf(answers),
    warnings: [...new Set(doubts)],
    receipt: [...new Set(remarks), ...receiptOf(answers)],
  };
}

/** The sentences of all answers, each once. */
export function summaryOf(answers: readonly Answer[]): string[] {
  return [...new Set(answers.flatMap(({ found }) => found.message.summary))];
}

/** Draw as many charts as find room, of all sections in turn. */
export async function withPictures(
  contents: Contents,
  answers: readonly Answer[],
  draw: (spec: object) => Promise<string>,
  room: number,
): Promise<Contents> {
  const all = groupsOf(answers).map(chartsOf);
  const pictures = all.map((): Picture[] => []);
  const most = Math.max(0, ...all.map((plots) => plots.length));
  let left = room;
  for (let turn = 0; turn < most && left > 0; turn += 1) {
    for (const [index, plots] of all.entries()) {
      const plot = plots[turn];
      if (plot === undefined || left <= 0) continue;
      const svg = slim(await draw(plot.spec()));
      const picture = { description: plot.description, svg };
      left -= sizeOf(picture);
      if (left > 0) pictures[index]?.push(picture);
    }
  }
  const sections = contents.sections.map((section, index) => {
    const own = pictures[index] ?? [];
    return { ...section, pictures: own, leftOut: section.leftOut - own.length };
  });
  return { ...contents, sections };
}

/** The figures of all answers, each once, as one answer has them: the rows of all stand last. */
export function keyFiguresOf(answers: readonly Answer[]): v1.KeyFigure[] {
  const told = answers.filter(({ found }) => (found.message.keyFigures ?? []).length > 0);
  const all = told.flatMap(({ found }) => found.message.keyFigures);
  const figures = all.filter(({ name }) => name !== ROW_COUNT);
  const once = new Map(figures.map((each) => [wordsOf(each), each]));
  const rows = all.filter(({ name }) => name === ROW_COUNT);
  return rows[0] === undefined ? [...once.values()] : [...once.values(), rowsOf(told, rows[0])];
}

/** The name of the figure that counts rows. */
const ROW_COUNT = "Rows";
const IN_PARTS = " in some parts";

function wordsOf({ name, value, unit, comparison }: v1.KeyFigure): string {
  return JSON.stringify([name, value, unit, comparison]);
}

/** The most rows of any part, and the fewest. */
function rowsOf(answers: readonly Answer[], figure: v1.KeyFigure): v1.KeyFigure {
  const counts = answers
    .flatMap(({ found }) => found.all)
    .flatMap(({ message }) => (message.rows ? [message.rows.usedRowCount] : []));
  const [fewest, most] = [Math.min(...counts), Math.max(...counts)];
  // What figures of all say of their rows stands last.
  const own = figure.comparison.split("; ").filter((part) => !part.endsWith(IN_PARTS));
  const fewer = fewest < most ? [`${count(fewest)}${IN_PARTS}`] : [];
  const comparison = [...fewer, ...own].filter(Boolean).join("; ");
  return { ...figure, value: count(most), comparison };
}

function groupsOf(answers: readonly Answer[]): Group[] {
  return answers.flatMap(({ found }) => sectionsOf(found.all));
}

/** The charts of a section; a single bar would say no more than its number. */
function chartsOf(group: Group): Plot[] {
  return group.filter((each) => !isNumber(each)).flatMap(plotsOf);
}

const FRAME = 200;

/** Bytes in the report: the picture is written in base64. */
function sizeOf({ description, svg }: Picture): number {
  const encoder = new TextEncoder();
  const text = encoder.encode(description).length;
  return Math.ceil((4 / 3) * encoder.encode(svg).length) + text + FRAME;
}

/**
 * A picture without what nobody sees: words for readers of screens, which its description has,
 * coordinates beyond a tenth of a pixel, and attributes that neighbours repeat.
 */
export function slim(svg: string): string {
  const short = svg
    .replace(/ (aria-[a-z]+|role|class|pointer-events)="[^"<>]*"/g, "")
    .replace(/ opacity="1"/g, "")
    .replace(/ (d|transform)="([^"]*)"/g, (_, name, value: string) => {
      return ` ${name}="${value.replace(/(\.\d)\d+/g, "$1")}"`;
    });
  return withOneFont(short).replace(RUN, (all, _first, style: string) => {
    // Opacity of a group would hide where its shapes overlap.
    const shared = style.replace(" opacity=", " fill-opacity=");
    return `<g${shared}>${all.replaceAll(`${style}/>`, "/>")}</g>`;
  });
}

/** Paths of one style, filled and without a line, one behind the other. */
const RUN =
  /(<path(?: transform="[^"]*")? d="[^"]*")( fill="#[^"]*"(?: stroke-width="[^"]*")?(?: opacity="[^"]*")?)\/>(?:<path(?: transform="[^"]*")? d="[^"]*"\2\/>)+/g;

/** The first font stands on the picture, and on texts in another. */
function withOneFont(svg: string): string {
  const font = / font-family="[^"]*"/.exec(svg)?.[0];
  return font === undefined ? svg : svg.replaceAll(font, "").replace("<svg", `<svg${font}`);
}

function receiptOf(answers: readonly Answer[]): string[] {
  const facts = answers.flatMap(({ found: { receipt } }) =>
    receipt === undefined
      ? []
      : [
          `Model ${receipt.modelDigest}`,
          `Table ${receipt.tableDigest}`,
          `At most ${receipt.rowCount} rows drawn, seed ${receipt.seed}`,
          `Server ${receipt.serverVersion}`,
        ],
  );
  return [...new Set(facts)];
}
