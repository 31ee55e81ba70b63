/** What the page shows: the place, and what is known of its files. */

import { computed, effect, signal } from "@preact/signals";
import type { v1 } from "onnxplain/rest";
import { describeTable, type TableAnswer } from "./calls";
import { fromHash, type Other, type Place, type Question, toHash } from "./question";
import { client, modelOf } from "./server";

/** Where the reader is; the address says the same. */
export const place = signal<Place>(fromHash(location.hash));

export const question = computed(() => place.value.question);

/** The model as the server describes it. */
export const model = signal<v1.ModelDescription | undefined>(undefined);

/** The table likewise, matched with the model where there is one. */
export const table = signal<TableAnswer | undefined>(undefined);

/** What describing failed with. */
export const faults = signal<{ readonly model?: unknown; readonly table?: unknown }>({});

/** What is being described. */
export const describing = signal<{ readonly model: boolean; readonly table: boolean }>({
  model: false,
  table: false,
});

/** Features that the model is fed, as far as they are known. */
export const features = computed<readonly string[]>(() => {
  const asked = question.value.features;
  if (asked.length > 0) return asked;
  const matched = table.value?.table?.matching?.featureColumns ?? [];
  return matched.length > 0 ? matched : (model.value?.featureNames ?? []);
});

/** Go to another place. */
export function go(change: Partial<Place>): void {
  place.value = { ...place.value, ...change };
  const hash = toHash(place.value);
  if (hash !== location.hash) history.pushState(null, "", hash);
}

/** Change the question in place; an overview of the former one no longer belongs to it. */
export function ask(change: Partial<Question>): void {
  place.value = {
    ...place.value,
    operation: "",
    question: { ...place.value.question, ...change },
  };
  history.replaceState(null, "", toHash(place.value));
}

/** Change what the question is compared with, likewise; its own answers stay. */
export function compareWith(change: Partial<Other>): void {
  place.value = { ...place.value, other: { ...place.value.other, ...change } };
  history.replaceState(null, "", toHash(place.value));
}

/** Forget the operation of the address: it gives no overview. */
export function forgetOperation(): void {
  place.value = { ...place.value, operation: "" };
  history.replaceState(null, "", toHash(place.value));
}

/** The address of another place, for links. */
export function hrefOf(change: Partial<Place>): string {
  return toHash({ ...place.value, ...change });
}

/** Follow the address, and describe what it names. */
export function follow(): void {
  const read = () => {
    place.value = fromHash(location.hash);
  };
  read();
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  const asked = { model: "", table: "" };
  effect(() => {
    const { model: content } = question.value;
    const key = JSON.stringify([content?.kind, content?.value]);
    if (key !== asked.model) void describeModel(key);
    asked.model = key;
  });
  effect(() => {
    const { model: content, table: rows, target, weight, features: columns } = question.value;
    const key = JSON.stringify([content?.value, rows?.value, target, weight, columns]);
    if (key !== asked.table) void describeRows(key);
    asked.table = key;
  });
}

/** Describe again, as for another reader, what could not be described. */
export async function describeAgain(): Promise<void> {
  const failed = faults.peek();
  await Promise.all([
    failed.model === undefined ? undefined : describeModel(),
    failed.table === undefined ? undefined : describeRows(),
  ]);
}

let latest = { model: "", table: "" };

async function describeModel(key = latest.model): Promise<void> {
  latest = { ...latest, model: key };
  const { model: content } = question.peek();
  model.value = undefined;
  faults.value = { ...faults.peek(), model: undefined };
  if (content === undefined) return;
  describing.value = { ...describing.peek(), model: true };
  try {
    const found = await client.describe(modelOf(content));
    if (latest.model === key) model.value = found;
  } catch (error) {
    if (latest.model === key) faults.value = { ...faults.peek(), model: error };
  } finally {
    if (latest.model === key) describing.value = { ...describing.peek(), model: false };
  }
}

async function describeRows(key = latest.table): Promise<void> {
  latest = { ...latest, table: key };
  const asked = question.peek();
  table.value = undefined;
  faults.value = { ...faults.peek(), table: undefined };
  if (asked.table === undefined) return;
  describing.value = { ...describing.peek(), table: true };
  try {
    const found = await describeTable(asked);
    if (latest.table === key) table.value = found;
  } catch (error) {
    if (latest.table === key) faults.value = { ...faults.peek(), table: error };
  } finally {
    if (latest.table === key) describing.value = { ...describing.peek(), table: false };
  }
}
