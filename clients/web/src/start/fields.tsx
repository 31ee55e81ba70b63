/** The fields of a model and of a table. */

import { keepModel, keepTable } from "../common/server";
import { ContentField, type Props } from "./content_field";

type Field = Pick<Props, "title" | "content" | "onChoose" | "children">;

export function ModelField(field: Field) {
  return (
    <ContentField
      {...field}
      kind="model"
      hint="An ONNX file, with the files beside it that hold its values, or a file of XGBoost (.json, .ubj) or LightGBM (.txt, .json)"
      example="s3://models/churn.onnx"
      accept=""
      keep={keepModel}
    />
  );
}

export function TableField(field: Field) {
  return (
    <ContentField
      {...field}
      kind="table"
      hint="CSV, Parquet or Arrow; also gzipped"
      example="s3://lake/rows.parquet"
      accept=".csv,.gz,.parquet,.arrow,.feather,.ipc"
      keep={keepTable}
    />
  );
}
