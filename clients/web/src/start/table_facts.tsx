/** What the table holds: columns, which of them are features, and its first rows. */

import type { v1 } from "onnxplain/rest";
import { DataTable, type Grid } from "../shared/data_table";
import { count, words } from "../shared/formats";
import { Name } from "../shared/name";
import { Problem } from "../shared/problem";
import { describing, faults, features, question, table } from "../shared/store";
import { Warnings } from "../shared/warnings";
import { cellsOf } from "./cells";

export function TableFacts() {
  const found = table.value?.table;
  const fault = faults.value.table;
  return (
    <section class="card">
      <h2>The table</h2>
      <p aria-live="polite" class="note">
        {describing.value.table && "The server reads the table…"}
      </p>
      {fault !== undefined && <Problem error={fault} title="The table cannot be read" />}
      {found && (
        <>
          <p>
            {count(Number(found.rowCount ?? 0))} rows, {count(found.columns?.length ?? 0)} columns
          </p>
          <Warnings warnings={table.value?.warnings ?? []} />
          <Match matching={found.matching} />
          <DataTable grid={columnsOf(found)} />
          {found.rows && <DataTable grid={rowsOf(found.rows)} />}
        </>
      )}
    </section>
  );
}

const RULES: Readonly<Record<string, string>> = {
  LISTED: "as listed in the question",
  BY_NAME: "by the names that the model carries",
  BY_POSITION: "by position, since the model carries no names",
};

function Match({ matching }: { matching: v1.FeatureMatchingJson | undefined }) {
  if (matching === undefined) return null;
  const { refusal = "", missingColumns = [], featureColumns = [], rule = "" } = matching;
  if (refusal !== "") {
    return (
      <div class="problem" role="alert">
        <p>
          <strong>The model cannot be fed from this table</strong>
        </p>
        <p>
          <bdi>{refusal}</bdi>
        </p>
        {missingColumns.length > 0 && (
          <p>
            Missing:{" "}
            {missingColumns.slice(0, 20).map((name, index) => (
              <span key={name}>
                {index > 0 && ", "}
                <Name text={name} />
              </span>
            ))}
          </p>
        )}
      </div>
    );
  }
  return (
    <p>
      {count(featureColumns.length)} columns feed the model, {RULES[rule] ?? ""}.
    </p>
  );
}

function columnsOf({ columns = [], rowCount = 0 }: v1.TableDescriptionJson): Grid {
  const { target, weight } = question.value;
  const roles = new Map(features.value.map((name) => [name, "feature"]));
  if (target !== "") roles.set(target, "target");
  if (weight !== "") roles.set(weight, "weight");
  return {
    title: "Columns",
    columns: ["Column", "Role", "Holds", "Missing", "Different", "Least", "Mean", "Largest"],
    rows: columns.map((each) => [
      each.name ?? "",
      roles.get(each.name ?? "") ?? "–",
      words(each.type ?? ""),
      Number(each.missingCount ?? 0),
      Number(each.distinctCount ?? 0),
      numeric(each.minimum),
      numeric(each.mean),
      numeric(each.maximum),
    ]),
    note: `of ${count(Number(rowCount))} rows`,
  };
}

function numeric(value: number | string | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function rowsOf({ columns = [], rowIndices = [] }: v1.TableRowsJson): Grid {
  return {
    title: "First rows",
    columns: ["Row", ...columns.map(({ name }) => name ?? "")],
    rows: rowIndices.map((row, index) => [
      String(row),
      ...columns.map((column) => cellsOf(column)[index]),
    ]),
  };
}
