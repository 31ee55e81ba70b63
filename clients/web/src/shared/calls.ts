/** The calls `DescribeTable` and `Predict`, until the client has them. */

import { ExplainError, type v1 } from "onnxplain/rest";
import type { Content, Question } from "./question";
import { base, options, token } from "./server";

export type TableAnswer = v1.DescribeTableResponseJson;

/** Describe a table, matched with the model where there is one. */
export function describeTable(
  asked: Question,
  more: Partial<v1.DescribeTableRequestJson> = {},
): Promise<TableAnswer> {
  const { outputs: _, modelName: __, ...common } = options(asked);
  const request: v1.DescribeTableRequestJson = {
    ...common,
    ...more,
    ...(asked.model === undefined ? {} : { model: source(asked.model) }),
    ...(asked.table === undefined ? {} : { table: tableSource(asked.table) }),
  };
  return post("v1/tables:describe", request);
}

/** Predict rows of a table that is given, or of the question's. */
export function predict(
  asked: Question,
  more: Partial<v1.PredictRequestJson>,
  signal?: AbortSignal,
): Promise<v1.PredictResponseJson> {
  const { modelName: _, ...common } = options(asked);
  const request: v1.PredictRequestJson = {
    ...common,
    ...(asked.table === undefined ? {} : { table: tableSource(asked.table) }),
    ...more,
    ...(asked.model === undefined ? {} : { model: source(asked.model) }),
  };
  return post("v1/predictions", request, signal);
}

function source({ kind, value }: Content): v1.ModelJson {
  return kind === "id" ? { id: value } : { uri: value };
}

function tableSource({ kind, value }: Content): v1.TableJson {
  return kind === "id" ? { id: value } : { uris: { uris: [value] } };
}

async function post<Answer>(route: string, body: unknown, signal?: AbortSignal): Promise<Answer> {
  const headers = new Headers({ "Content-Type": "application/json", Accept: "application/json" });
  if (token.value !== "") headers.set("Authorization", `Bearer ${token.value}`);
  const response = await fetch(new URL(route, base()), {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const answer = await response.json();
  if (response.ok) return answer as Answer;
  throw new ExplainError(answer.detail ?? `the answer was HTTP ${response.status}`, {
    reason: answer.reason ?? "UNKNOWN",
    code: "UNKNOWN",
    field: answer.errors?.[0]?.field ?? "",
  });
}
