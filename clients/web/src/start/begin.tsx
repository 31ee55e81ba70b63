/** What is asked of the model, what that takes, and its start. */

import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { v1 } from "onnxplain/rest";
import { config } from "../common/config";
import { count } from "../common/formats";
import { clipped, plain } from "../common/name";
import { costOf, methodsOf } from "../common/plans";
import { Problem } from "../common/problem";
import { answers, compute, inputOf, overviewOf, run } from "../common/runs";
import { client } from "../common/server";
import { ask, faults, features, go, hrefOf, model, question, table } from "../common/store";
import { type Advice, adviceOf } from "./targets";

export function Begin() {
  const plan = useSignal<v1.ExplanationPlan | undefined>(undefined);
  const isBroken = faults.value.model !== undefined || faults.value.table !== undefined;
  if (isBroken) return null;
  const isRefused = (table.value?.table?.matching?.refusal ?? "") !== "";
  const { target, weight, output, seconds } = question.value;
  const columns = (table.value?.table?.columns ?? []).map(({ name }) => name);
  const outputs = model.value?.outputNames ?? [];
  const others = columns.filter((name) => !features.value.includes(name) || name === target);
  const advice = advised();
  return (
    <section class="card" aria-label="Question">
      <h2>The question</h2>
      <div class="choices">
        <Choice
          label="Target: the true values"
          value={target}
          none="None: no losses are computed"
          texts={others}
          onChange={(name) => ask({ target: name })}
        />
        <Choice
          label={model.value?.hasClassScores ? "Class to explain" : "Output to explain"}
          value={output}
          none={defaultOutput(model.value)}
          texts={outputs.length > 1 ? outputs : []}
          onChange={(name) => ask({ output: name })}
        />
        <Choice
          label="Weights of the rows"
          value={weight}
          none="None: all rows weigh the same"
          texts={others.filter((name) => name !== target)}
          onChange={(name) => ask({ weight: name })}
        />
        <label>
          Seconds that an overview may take{" "}
          <input
            type="number"
            min={1}
            max={86_400}
            value={seconds}
            onChange={(event) => {
              const value = event.currentTarget.valueAsNumber;
              if (value >= 1 && value <= 86_400) ask({ seconds: value });
            }}
          />
        </label>
      </div>
      {target === "" && advice.proposed !== "" && (
        <p>
          The column <bdi>{clipped(advice.proposed)}</bdi> may be the target.{" "}
          <button type="button" onClick={() => ask({ target: advice.proposed })}>
            Use it as target
          </button>
        </p>
      )}
      {target === "" && advice.words !== "" && (
        <p class="note">
          <bdi>{plain(advice.words)}</bdi>
        </p>
      )}
      <FeatureChoice columns={columns} />
      {!isRefused && <PlanFacts plan={plan} />}
      <p class="start">
        <button
          type="button"
          class="strong"
          disabled={isRefused || (run.value !== undefined && run.value.error === undefined)}
          onClick={() => {
            go({ room: "explore", path: [] });
            void compute("Overview", [], plan.value);
          }}
        >
          Start the overview
        </button>{" "}
        {overviewOf(answers.value) && <a href={hrefOf({ room: "explore" })}>See the overview</a>}{" "}
        {config.value.hasOperations === false && (
          <span class="note">
            This server keeps no operations: the overview ends with this page.
          </span>
        )}
      </p>
    </section>
  );
}

/** The server's proposal of a target, or what the page can say. */
function advised(): Advice {
  const found = table.value?.table;
  const proposed = found?.matching?.targetColumn ?? "";
  if (found === undefined || proposed !== "") return { proposed, words: "" };
  const { weight } = question.value;
  const rest = found.columns.filter(
    ({ name }) => !features.value.includes(name) && name !== weight,
  );
  return adviceOf(rest, model.value?.outputNames ?? [], model.value?.hasClassScores ?? false);
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly none: string;
  readonly texts: readonly string[];
  readonly onChange: (text: string) => void;
}

function Choice({ label, value, none, texts, onChange }: ChoiceProps) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{none}</option>
        {texts.map((text) => (
          <option key={text} value={text}>
            {clipped(text)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The columns that a model without names is fed. */
function FeatureChoice({ columns }: { columns: readonly string[] }) {
  const rule = table.value?.table?.matching?.rule;
  const isNamed = (model.value?.featureNames.length ?? 0) > 0;
  if (rule === undefined || rule === v1.FeatureMatching_Rule.BY_NAME || isNamed) return null;
  const { target, weight } = question.value;
  const chosen =
    features.value.length > 0
      ? features.value
      : columns.filter((name) => name !== target && name !== weight);
  const change = (name: string, isChosen: boolean) => {
    const set = new Set(chosen);
    if (isChosen) set.add(name);
    else set.delete(name);
    ask({ features: columns.filter((each) => set.has(each)) });
  };
  return (
    <details>
      <summary>Features: {count(chosen.length)} columns, by position</summary>
      <fieldset>
        <legend>Columns that feed the model, in the order of the table</legend>
        {columns.map((name) => (
          <label key={name} class="tick">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) => change(name, event.currentTarget.checked)}
            />{" "}
            <bdi>{clipped(name)}</bdi>
          </label>
        ))}
      </fieldset>
    </details>
  );
}

function defaultOutput(found: v1.ModelDescription | undefined): string {
  const names = found?.outputNames ?? [];
  const [index, ...more] = found?.defaultOutputIndices ?? [];
  if (index === undefined || more.length > 0) return `All ${count(names.length)}`;
  return `${clipped(names[index] ?? "")} (default)`;
}

/** What the overview would take; asked again when the question changes. */
function PlanFacts({ plan }: { plan: Signal<v1.ExplanationPlan | undefined> }) {
  const error = useSignal<unknown>(undefined);
  useSignalEffect(() => {
    const asked = question.value;
    const isReady = model.value !== undefined && table.value !== undefined;
    plan.value = undefined;
    error.value = undefined;
    if (!isReady) return;
    const ending = new AbortController();
    client.plan(inputOf(asked, []), { signal: ending.signal }).then(
      (found) => {
        plan.value = found;
      },
      (fault: unknown) => {
        if (!ending.signal.aborted) error.value = fault;
      },
    );
    return () => ending.abort();
  });
  const found = plan.value;
  const cost = found && costOf(found);
  return (
    <div class="plan" aria-live="polite">
      {error.value !== undefined && (
        <Problem error={error.value} title="This question would be refused" />
      )}
      {cost !== undefined && found !== undefined && (
        <p>
          The overview {cost}. It has {methodsOf(found)}.
        </p>
      )}
      {found === undefined && error.value === undefined && <p class="note">Planning…</p>}
    </div>
  );
}
