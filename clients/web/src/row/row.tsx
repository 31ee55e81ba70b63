/** The third room: one row, its prediction, and what moves it. */

import { useSignal } from "@preact/signals";
import type { v1 } from "onnxplain/rest";
import { useEffect } from "preact/hooks";
import { describeTable } from "../common/calls";
import { Problem } from "../common/problem";
import { features, question, table } from "../common/store";
import { Curve } from "./curve";
import { Moves } from "./moves";
import { Nearest } from "./nearest";
import { Parts } from "./parts";
import { Prediction } from "./prediction";
import { type Values, valuesOf } from "./values";

export function Row() {
  const index = useSignal(0);
  const chosen = useSignal<Values | undefined>(undefined);
  const moved = useSignal<Values | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const looked = useSignal("");
  const asked = question.value;
  const description = table.value?.table;
  const rowCount = description?.rowCount ?? 0;
  const names = features.value;
  useEffect(() => {
    let isGone = false;
    if (description === undefined) return;
    error.value = undefined;
    describeTable(asked, { rowIndices: [index.value] }).then(
      (found) => {
        if (isGone || found.table?.rows === undefined) return;
        chosen.value = valuesOf(found.table.rows, 0);
        moved.value = chosen.value;
      },
      (fault: unknown) => {
        if (!isGone) error.value = fault;
      },
    );
    return () => {
      isGone = true;
    };
  }, [asked, description, index.value]);
  const columns = (description?.columns ?? []).filter(({ name }) => names.includes(name));
  const feature = looked.value || (names[0] ?? "");
  return (
    <>
      <h1>One row</h1>
      <p class="question">What is predicted for a row, and what if it were another?</p>
      <p>
        <label>
          Row of the table, from 0{" "}
          <input
            type="number"
            min={0}
            max={Math.max(0, rowCount - 1)}
            value={index.value}
            onChange={(event) => {
              const value = event.currentTarget.valueAsNumber;
              if (Number.isInteger(value) && value >= 0 && value < rowCount) index.value = value;
            }}
          />
        </label>{" "}
        <button
          type="button"
          onClick={() => {
            moved.value = chosen.value;
          }}
        >
          Back to the row as it is
        </button>
      </p>
      {error.value !== undefined && <Problem error={error.value} title="The row cannot be read" />}
      {moved.value && chosen.value && (
        <div class="halves">
          <section class="card">
            <h2>Its values</h2>
            <Moves
              columns={columns}
              values={moved.value}
              looked={feature}
              onLook={(name) => {
                looked.value = name;
              }}
              onMove={(name, value) => {
                moved.value = { ...moved.value, [name]: value };
              }}
            />
          </section>
          <div>
            <Prediction values={moved.value} columns={allColumns(description)} />
            <Curve
              values={moved.value}
              columns={allColumns(description)}
              column={columns.find(({ name }) => name === feature)}
            />
            <Parts
              index={index.value}
              moved={isSame(moved.value, chosen.value) ? undefined : moved.value}
              columns={columns}
            />
          </div>
        </div>
      )}
      {moved.value && <Nearest values={moved.value} columns={columns} />}
    </>
  );
}

function isSame(one: Values, other: Values): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function allColumns(description: v1.TableDescription | undefined) {
  return description?.columns ?? [];
}
