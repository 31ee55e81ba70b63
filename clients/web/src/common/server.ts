/** The server that the page came from. */

import { computed } from "@preact/signals";
import { connect, ModelFiles, ModelRef, ModelUri, TableRef, TableUris } from "onnxplain/rest";
import { patient, token } from "./asking";
import type { Content, Question } from "./question";

/** The address that the page and the calls of its server are below, without the fragment. */
export function base(): URL {
  return new URL(".", document.baseURI);
}

const isTold = computed(() => token.value.text !== "");

// Calls on their way, and operations, show the token of the moment.
const connection = computed(() =>
  connect(base(), isTold.value ? { token: () => token.peek().text } : {}),
);

/** The client. */
export const client = patient(() => connection.peek());

/** Files of this page, which can be sent again where the server has forgotten them. */
const models = new Map<string, ModelRef>();
const tables = new Map<string, TableRef>();

/** Have the server keep a model. */
export async function keepModel(files: readonly File[], signal: AbortSignal): Promise<Content> {
  const [file, ...beside] = files as readonly [File, ...File[]];
  const values = Object.fromEntries(beside.map((each) => [each.name, each]));
  const model = beside.length === 0 ? file : new ModelFiles(file, values);
  const kept = await client.uploadModel(model, { signal });
  models.set(kept.id, kept);
  return { kind: "id", value: kept.id, name: file.name };
}

/** Have the server keep a table. */
export async function keepTable(files: readonly File[], signal: AbortSignal): Promise<Content> {
  const [file] = files as readonly [File];
  const kept = await client.uploadTable(file, { signal });
  tables.set(kept.id, kept);
  return { kind: "id", value: kept.id, name: file.name };
}

/** A model as calls take it. */
export function modelOf({ kind, value }: Content): ModelRef | ModelUri {
  return kind === "uri" ? new ModelUri(value) : (models.get(value) ?? new ModelRef(value));
}

/** A table as calls take it. */
export function tableOf({ kind, value }: Content): TableRef | TableUris {
  return kind === "uri" ? new TableUris([value]) : (tables.get(value) ?? new TableRef(value));
}

/** What all requests of a question have in common, in the contract's JSON. */
export function options(question: Question) {
  const { target, weight, features, output, model } = question;
  return {
    ...(target === "" ? {} : { targetColumn: target }),
    ...(weight === "" ? {} : { weightColumn: weight }),
    ...(features.length === 0 ? {} : { featureColumns: [...features] }),
    ...(output === "" ? {} : { outputs: [output] }),
    ...(model === undefined || model.name === "" ? {} : { modelName: model.name.slice(0, 255) }),
  };
}
