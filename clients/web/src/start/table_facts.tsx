/** What the table holds: columns, which of them are features, and its first rows. */

import { v1 } from "onnxplain/rest";
import { isText } from "../common/calls";
import { count } from "../common/formats";
import { Name } from "../common/name";
import { Problem } from "../common/problem";
import { describing, faults, features, question, table } from "../common/store";
import { Warnings } from "../common/warnings";
import { DataTable } from "../tables/data_table";
import type { Grid } from "../tables/grid";
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
            {count(found.rowCount)} rows, {count(found.columns.length)} columns
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

const RULES: Readonly<Record<v1.FeatureMatching_Rule, string>> = {
  [v1.FeatureMatching_Rule.RULE_UNSPECIFIED]: "",
  [v1.FeatureMatching_Rule.LISTED]: "as listed in the question",
  [v1.FeatureMatching_Rule.BY_NAME]: "by the names that the model carries",
  [v1.FeatureMatching_Rule.BY_POSITION]: "by position, since the model carries no names",
};

function Match({ matching }: { matching: v1.FeatureMatching | undefined }) {
  if (matching === undefined) return null;
  const { refusal, missingColumns, featureColumns, rule } = matching;
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
      {count(featureColumns.length)} columns feed the model, {RULES[rule]}.
    </p>
  );
}

function columnsOf({ columns, rowCount }: v1.TableDescription): Grid {
  const { target, weight } = question.value;
  const roles = new Map(features.value.map((name) => [name, "feature"]));
  if (target !== "") roles.set(target, "target");
  if (weight !== "") roles.set(weight, "weight");
  return {
    title: "Columns",
    columns: ["Column", "Role", "Holds", "Missing", "Different", "Least", "Mean", "Largest"],
    rows: columns.map((each) => [
      each.name,
      roles.get(each.name) ?? "–",
      isText(each) ? "Text" : "Numbers",
      each.missingCount,
      each.distinctCount,
      each.minimum,
      each.mean,
      each.maximum,
    ]),
    note: `of ${count(rowCount)} rows`,
  };
}

function rowsOf({ columns, rowIndices }: v1.TableRows): Grid {
  return {
    title: "First rows",
    columns: ["Row", ...columns.map(({ name }) => name)],
    rows: rowIndices.map((row, index) => [row, ...columns.map((column) => cellsOf(column)[index])]),
  };
}
