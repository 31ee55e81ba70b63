/** What a report holds, drawn. */

import type { Plot } from "onnxplain/rest";
import type { Answer } from "../common/runs";
import { about } from "../explore/methods";
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
  readonly warnings: readonly string[];
  readonly sections: readonly Section[];
  readonly receipt: readonly string[];
}

// So many charts and rows of a method; the report tells what it leaves out.
export const CHARTS = 12;
export const ROWS = 200;

/** Draw what the answers hold. */
export async function contentsOf(
  title: string,
  notes: string,
  answers: readonly Answer[],
  draw: (spec: object) => Promise<string>,
): Promise<Contents> {
  const all = answers.flatMap(({ found }) => found.all);
  const sections: Section[] = [];
  let room = BUDGET;
  for (const explanation of all) {
    const method = about(explanation.method);
    const pictures = await drawn(explanation.plots.slice(0, CHARTS), draw, room);
    room -= sizeOf(pictures);
    sections.push({
      title: method?.title ?? "Explanation",
      question: method?.question ?? "",
      limits: method?.limits ?? [],
      pictures,
      leftOut: explanation.plots.length - pictures.length,
      tables: tablesOf(explanation).filter(({ isPoints }) => !isPoints),
    });
  }
  const warnings = answers.flatMap(({ found }) => found.warnings.map(({ message }) => message));
  return { title, notes, sections, warnings: [...new Set(warnings)], receipt: receiptOf(answers) };
}

// Bytes of all charts; a report stays below 2 MB, also with its tables.
const BUDGET = 1_100_000;

async function drawn(
  plots: readonly Plot[],
  draw: (spec: object) => Promise<string>,
  room: number,
): Promise<Picture[]> {
  const pictures: Picture[] = [];
  for (const { description, vegaLite } of plots) {
    const svg = rounded(await draw(vegaLite));
    const more = [...pictures, { description, svg }];
    if (sizeOf(more) > room) break;
    pictures.push({ description, svg });
  }
  return pictures;
}

/** Coordinates to a tenth of a pixel: nobody sees more. */
export function rounded(svg: string): string {
  return svg.replace(/ (d|transform)="([^"]*)"/g, (_, name, value: string) => {
    return ` ${name}="${value.replace(/(\.\d)\d+/g, "$1")}"`;
  });
}

function sizeOf(pictures: readonly Picture[]): number {
  return pictures.reduce((size, { svg }) => size + svg.length, 0);
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
