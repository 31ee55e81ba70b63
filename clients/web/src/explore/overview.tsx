/** The overview: what was found, then each method's first charts, and what to know about them. */

import type { Explanation } from "onnxplain/rest";
import { answers, overviewOf, run } from "../common/runs";
import { hrefOf, question } from "../common/store";
import { Summary } from "../common/summary";
import { doubtsOf, Warnings } from "../common/warnings";
import { titleOf } from "../share/titles";
import { DataTable } from "../tables/data_table";
import { Finding } from "./finding";
import { about } from "./methods";
import { Receipt } from "./receipt";
import { RequestCode } from "./request_code";
import { isNumber, type Section, sectionsOf } from "./sections";
import { tablesOf } from "./tables";

const CHARTS = 2;

export function Overview() {
  const answer = overviewOf(answers.value);
  const found = answer?.found;
  const parts = found?.all ?? run.value?.parts ?? [];
  return (
    <>
      <h1>{titleOf(question.value)}</h1>
      {found && <Summary sentences={found.message.summary} figures={found.message.keyFigures} />}
      {found && <Warnings warnings={doubtsOf(found.warnings)} />}
      {sectionsOf(parts).map((section, index) => (
        <Part key={index} section={section} isFinal={found !== undefined} />
      ))}
      {found?.receipt && <Receipt found={found} />}
      {answer && <RequestCode methods={answer.methods} />}
    </>
  );
}

function Part({ section, isFinal }: { section: Section; isFinal: boolean }) {
  const method = about(section[0]?.method);
  if (method === undefined) return null;
  const numbers = section.filter(isNumber);
  return (
    <section>
      <h2>
        <a href={hrefOf({ room: "explore", path: [method.name] })}>{method.title}</a>
      </h2>
      <p class="question">{method.question}</p>
      {!isFinal && section.every(({ message }) => message.plots.length === 0) && (
        <p class="note">So far, from some of the rows.</p>
      )}
      {section
        .filter((each) => !isNumber(each))
        .map((explanation, index) => (
          <Finding
            key={index}
            explanation={explanation}
            chartCount={CHARTS}
            tables={explanation.message.plots.length === 0}
          />
        ))}
      {numbers.length > 0 && <Numbers explanations={numbers} isOpen={!isFinal} />}
    </section>
  );
}

/** Tables of mere numbers, which the key figures tell too once these are there. */
function Numbers({
  explanations,
  isOpen,
}: {
  explanations: readonly Explanation[];
  isOpen: boolean;
}) {
  return (
    <details open={isOpen}>
      <summary>Numbers</summary>
      {explanations.flatMap(tablesOf).map((grid, index) => (
        <DataTable key={index} grid={grid} />
      ))}
    </details>
  );
}
