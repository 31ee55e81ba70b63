/** The first room: a model, a table, what matches what, and an overview of it. */

import { ask, question } from "../common/store";
import { Begin } from "./begin";
import { ModelField, TableField } from "./fields";
import { ModelFacts } from "./model_facts";
import { TableFacts } from "./table_facts";

export function Start() {
  const { model, table } = question.value;
  return (
    <>
      <h1>See what a model has learned</h1>
      <p class="found">
        Choose a model and a table of rows that it predicts. The server explains the model on these
        rows; nothing is sent anywhere else.
      </p>
      <div class="fields">
        {/* Columns and outputs of the former file mean nothing to another. */}
        <ModelField
          title="Model"
          content={model}
          onChoose={(content) => ask({ model: content, output: "", features: [] })}
        />
        <TableField
          title="Table"
          content={table}
          onChoose={(content) => ask({ table: content, target: "", weight: "", features: [] })}
        />
      </div>
      {model !== undefined && table !== undefined && <Begin />}
      {model !== undefined && <ModelFacts />}
      {table !== undefined && <TableFacts />}
    </>
  );
}
