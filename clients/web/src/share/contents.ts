/** What a report holds, drawn. */

import type { Plot } from "onnxplain/rest";
import { about } from "../explore/methods";
import { type Statistics, tablesOf } from "../explore/tables";
import type { Answer } from "../shared/runs";

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
  for (const explanation of all) {
    const method = about(explanation.method);
    sections.push({
      title: method?.title ?? "Explanation",
      question: method?.question ?? "",
      limits: method?.limits ?? [],
      pictures: await drawn(explanation.plots.slice(0, CHARTS), draw),
      tables: tablesOf(explanation),
    });
  }
  const warnings = answers.flatMap(({ found }) => found.warnings.map(({ message }) => message));
  return { title, notes, sections, warnings: [...new Set(warnings)], receipt: receiptOf(answers) };
}

async function drawn(plots: readonly Plot[], draw: (spec: object) => Promise<string>) {
  const pictures: Picture[] = [];
  for (const { description, vegaLite } of plots) {
    pictures.push({ description, svg: await draw(vegaLite) });
  }
  return pictures;
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
