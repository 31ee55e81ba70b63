/** The overview: each method's first charts, and what to know about them. */

import type { Explanation } from "onnxplain/rest";
import { answers, overviewOf, run } from "../common/runs";
import { hrefOf } from "../common/store";
import { Summary } from "../common/summary";
import { Warnings } from "../common/warnings";
import { Finding } from "./finding";
import { about } from "./methods";
import { Receipt } from "./receipt";
import { RequestCode } from "./request_code";

const CHARTS = 2;

export function Overview() {
  const answer = overviewOf(answers.value);
  const found = answer?.found;
  const parts = found?.all ?? run.value?.parts ?? [];
  return (
    <>
      <h1>Overview</h1>
      {found && <Summary sentences={found.message.summary} />}
      {found && <Warnings warnings={found.warnings} />}
      {parts.map((explanation, index) => (
        <Part key={index} explanation={explanation} isFinal={found !== undefined} />
      ))}
      {found?.receipt && <Receipt found={found} />}
      {answer && <RequestCode methods={answer.methods} />}
    </>
  );
}

function Part({ explanation, isFinal }: { explanation: Explanation; isFinal: boolean }) {
  const method = about(explanation?.method);
  if (method === undefined) return null;
  return (
    <section>
      <h2>
        <a href={hrefOf({ room: "explore", path: [method.name] })}>{method.title}</a>
      </h2>
      <p class="question">{method.question}</p>
      {!isFinal && explanation.message.plots.length === 0 && (
        <p class="note">So far, from some of the rows.</p>
      )}
      <Finding
        explanation={explanation}
        chartCount={CHARTS}
        tables={explanation.message.plots.length === 0}
      />
    </section>
  );
}
