/** Which part each feature has in the prediction of the row, and of the row as it is moved. */

import type { Explanations } from "onnxplain/rest";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart";
import { plotsOf } from "../charts/plots";
import { useLatest } from "../common/latest";
import { plain } from "../common/name";
import { Problem } from "../common/problem";
import { answers, inputOf, type Methods } from "../common/runs";
import { client } from "../common/server";
import { question } from "../common/store";
import { Warnings } from "../common/warnings";
import { Compute } from "../explore/compute";
import { sentenceOf } from "./sentence";
import { type Described, toColumns, type Values } from "./values";

interface Props {
  /** The row of the table. */
  readonly index: number;

  /** Its values, where some are others than in the table. */
  readonly moved: Values | undefined;

  /** The features. */
  readonly columns: readonly Described[];
}

const TITLE = "Parts of the features";
const REST_MS = 60;

export function Parts({ index, moved, columns }: Props) {
  const methods = useMemo<Methods>(() => [{ attributions: { rowIndices: [index] } }], [index]);
  const key = JSON.stringify(methods);
  const answer = answers.value.find((each) => JSON.stringify(each.methods) === key);
  return (
    <section class="card">
      <h2>{TITLE}</h2>
      {answer ? (
        <>
          {moved && <p class="note">Of the row as it is in the table, without your changes.</p>}
          <Found found={answer.found} index={index} />
        </>
      ) : (
        <Compute
          key={key}
          title={TITLE}
          methods={methods}
          atOnce={
            moved ? (
              <AtOnce methods={ofValues(columns, moved)} index={undefined} />
            ) : (
              <AtOnce methods={methods} index={index} />
            )
          }
        />
      )}
    </section>
  );
}

/** Ask for the parts in the prediction of a row that is no row of the table. */
function ofValues(columns: readonly Described[], values: Values): Methods {
  return [{ attributions: { explainedRows: toColumns(columns, values) } }];
}

interface Asked {
  readonly methods: Methods;

  /** The row of the table; undefined for one given by its values. */
  readonly index: number | undefined;
}

/**
 * The answer to what takes little: it is no part of what is shared, since nobody asked for it.
 *
 * It follows what is moved, after a moment of rest.
 */
function AtOnce({ methods, index }: Asked) {
  const asked = question.value;
  const ask = (ending: AbortSignal) => client.explain(inputOf(asked, methods), { signal: ending });
  const { found, error } = useLatest(ask, REST_MS, [asked, JSON.stringify(methods)]);
  if (error.value !== undefined) return <Problem error={error.value} title="No parts" />;
  if (found.value === undefined) return <p class="note">Computing…</p>;
  return <Found found={found.value} index={index} />;
}

function Found({ found, index }: { found: Explanations; index: number | undefined }) {
  const plots = useMemo(() => found.all.flatMap(plotsOf), [found]);
  const sentence = sentenceOf(found.message.summary, index);
  return (
    <>
      {sentence !== "" && (
        <p>
          <bdi>{plain(sentence)}</bdi>
        </p>
      )}
      {plots.map((plot) => (
        <Chart key={plot.name} plot={plot} />
      ))}
      <Warnings warnings={found.warnings} />
    </>
  );
}
