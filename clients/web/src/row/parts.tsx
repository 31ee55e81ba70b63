/** Which part each feature has in the prediction of the row, as it is in the table. */

import { useSignal } from "@preact/signals";
import type { Explanations } from "onnxplain/rest";
import { useEffect, useMemo } from "preact/hooks";
import { Chart } from "../charts/chart";
import { plotsOf } from "../charts/plots";
import { plain } from "../common/name";
import { Problem } from "../common/problem";
import { answers, inputOf, type Methods } from "../common/runs";
import { client } from "../common/server";
import { question } from "../common/store";
import { Warnings } from "../common/warnings";
import { Compute } from "../explore/compute";
import { sentenceOf } from "./sentence";

interface Props {
  /** The row of the table. */
  readonly index: number;

  /** Whether values of it are others than in the table. */
  readonly isMoved: boolean;
}

const TITLE = "Parts of the features";

export function Parts({ index, isMoved }: Props) {
  const methods = useMemo<Methods>(() => [{ attributions: { rowIndices: [index] } }], [index]);
  const key = JSON.stringify(methods);
  const answer = answers.value.find((each) => JSON.stringify(each.methods) === key);
  return (
    <section class="card">
      <h2>{TITLE}</h2>
      {isMoved && <p class="note">Of the row as it is in the table, without your changes.</p>}
      {answer ? (
        <Found found={answer.found} index={index} />
      ) : (
        <Compute
          key={key}
          title={TITLE}
          methods={methods}
          atOnce={<AtOnce methods={methods} index={index} />}
        />
      )}
    </section>
  );
}

/** The answer to what takes little: it is no part of what is shared, since nobody asked for it. */
function AtOnce({ methods, index }: { methods: Methods; index: number }) {
  const found = useSignal<Explanations | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const asked = question.value;
  useEffect(() => {
    const ending = new AbortController();
    client.explain(inputOf(asked, methods), { signal: ending.signal }).then(
      (answer) => {
        found.value = answer;
        error.value = undefined;
      },
      (fault: unknown) => {
        if (!ending.signal.aborted) error.value = fault;
      },
    );
    return () => ending.abort();
  }, [asked, methods]);
  if (error.value !== undefined) return <Problem error={error.value} title="No parts" />;
  if (found.value === undefined) return <p class="note">Computing…</p>;
  return <Found found={found.value} index={index} />;
}

function Found({ found, index }: { found: Explanations; index: number }) {
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
