/** Calls about tables and rows for the question of the page. */

import { v1 } from "onnxplain/rest";
import type { Question } from "./question";
import { client, modelOf, options, tableOf } from "./server";

export type TableAnswer = v1.DescribeTableResponse;

type Client = typeof client;
type DescribeOptions = Omit<Parameters<Client["describeTable"]>[0], "model" | "table">;
type PredictOptions = Partial<Omit<Parameters<Client["predict"]>[0], "model">>;

/** Describe the table of a question, matched with its model where there is one. */
export async function describeTable(
  asked: Question,
  more: DescribeOptions = {},
): Promise<TableAnswer> {
  if (asked.table === undefined) throw new TypeError("the question has no table");
  const { outputs: _, modelName: __, ...common } = options(asked);
  const { model, table } = asked;
  return client.describeTable({
    ...common,
    ...more,
    ...(model === undefined ? {} : { model: modelOf(model) }),
    table: tableOf(table),
  });
}

/** Predict rows of a table that is given, or of the question's. */
export async function predict(
  asked: Question,
  more: PredictOptions,
  signal?: AbortSignal,
): Promise<v1.PredictResponse> {
  const { model, table } = asked;
  if (model === undefined || table === undefined) throw new TypeError("the question has no model");
  const { modelName: _, ...common } = options(asked);
  const input = { table: tableOf(table), ...common, ...more, model: modelOf(model) };
  return client.predict(input, { signal });
}

/** Whether a column holds text. */
export function isText({ type }: v1.ColumnDescription): boolean {
  return type === v1.ColumnDescription_Type.TEXT;
}
