/** What has changed between two answers, with what is known of both. */

import type { v1 } from "onnxplain/rest";
import { useMemo } from "preact/hooks";
import { Charts } from "../charts/charts";
import { readLater } from "../charts/plots";
import { plain } from "../common/name";
import { Summary } from "../common/summary";
import { doubtsOf, Warnings } from "../common/warnings";
import { Receipt } from "../explore/receipt";
import { DataTable } from "../tables/data_table";
import { tablesOfChanges, WORDS } from "./change_tables";
import type { Compared } from "./comparing";

export function Changes({ compared: { before, after } }: { compared: Compared }) {
  const { comparison } = after.message;
  const plots = useMemo(() => readLater(comparison?.plots ?? []), [comparison]);
  const grids = useMemo(() => (comparison ? tablesOfChanges(comparison) : []), [comparison]);
  if (comparison === undefined) return null;
  return (
    <>
      <h2>{WORDS.title}</h2>
      <p class="question">{WORDS.question}</p>
      <Summary sentences={comparison.summary} />
      <p>
        <bdi>{plain(comparison.pairingReason)}</bdi>
      </p>
      <Doubts before={before.warnings} after={after.warnings} />
      <Charts plots={plots} />
      {grids.map((grid) => (
        <DataTable key={grid.title} grid={grid} />
      ))}
      <section class="limits">
        <h2>When not to rely on it</h2>
        <ul>
          {WORDS.limits.map((limit) => (
            <li key={limit}>{limit}</li>
          ))}
        </ul>
      </section>
      <Receipt found={before} title="How the numbers before were made" file="before.json" />
      <Receipt found={after} title="How the numbers after were made" file="after.json" />
    </>
  );
}

interface Sides {
  readonly before: readonly v1.Warning[];
  readonly after: readonly v1.Warning[];
}

/** What to know of both sides, and of either one. */
function Doubts({ before, after }: Sides) {
  const told = new Set(before.map(({ message }) => message));
  const again = new Set(after.map(({ message }) => message));
  return (
    <>
      <Warnings warnings={doubtsOf(after.filter(({ message }) => told.has(message)))} />
      <Warnings
        title="To know about the numbers before"
        warnings={doubtsOf(before.filter(({ message }) => !again.has(message)))}
      />
      <Warnings
        title="To know about the numbers after"
        warnings={doubtsOf(after.filter(({ message }) => !told.has(message)))}
      />
    </>
  );
}
