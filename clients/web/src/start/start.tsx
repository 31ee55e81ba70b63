/** The first room: a model, a table, what matches what, and an overview of it. */

import { keepModel, keepTable } from "../common/server";
import { question } from "../common/store";
import { Begin } from "./begin";
import { ContentField } from "./content_field";
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
        <ContentField
          kind="model"
          title="Model"
          hint="An ONNX file, with the files beside it that hold its values, or a file of XGBoost (.json, .ubj) or LightGBM (.txt, .json)"
          example="s3://models/churn.onnx"
          accept=""
          keep={keepModel}
        />
        <ContentField
          kind="table"
          title="Table"
          hint="CSV, Parquet or Arrow; also gzipped"
          example="s3://lake/rows.parquet"
          accept=".csv,.gz,.parquet,.arrow,.feather,.ipc"
          keep={keepTable}
        />
      </div>
      {model !== undefined && table !== undefined && <Begin />}
      {model !== undefined && <ModelFacts />}
      {table !== undefined && <TableFacts />}
    </>
  );
}
