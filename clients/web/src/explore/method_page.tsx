/** One method: what it found, with what is known about it. */

import { answers, type Methods } from "../common/runs";
import { question } from "../common/store";
import { Summary } from "../common/summary";
import { doubtsOf, Warnings } from "../common/warnings";
import { Compute } from "./compute";
import { Finding } from "./finding";
import type { About } from "./methods";
import { Receipt } from "./receipt";
import { RequestCode } from "./request_code";

export function MethodPage({ about }: { about: About }) {
  const whole: Methods = [{ [about.name]: {} } as Methods[number]];
  const last = answers.value
    .filter(({ methods }) => methods.length === 0 || isSame(methods, whole))
    .filter(({ found }) => found.all.some(({ method }) => method === about.name))
    .at(-1);
  const lacksTarget = about.needsTarget && question.value.target === "";
  return (
    <>
      <h1>{about.title}</h1>
      <p class="question">{about.question}</p>
      {last?.methods.length === 1 && <Summary sentences={last.found.message.summary} />}
      {last && <Warnings warnings={doubtsOf(last.found.warnings)} />}
      {last?.found.all
        .filter(({ method }) => method === about.name)
        .map((explanation, index) => (
          <Finding key={`${about.name} ${index}`} explanation={explanation} />
        ))}
      {last === undefined && lacksTarget && (
        <p>This method compares predictions with true values: choose a target first.</p>
      )}
      {!lacksTarget && last?.methods.length !== 1 && (
        <Compute title={about.title} methods={whole} isAgain={last !== undefined} />
      )}
      <section class="limits">
        <h2>When not to rely on it</h2>
        <ul>
          {about.limits.map((limit) => (
            <li key={limit}>{limit}</li>
          ))}
        </ul>
      </section>
      {last && <Receipt found={last.found} />}
      <RequestCode methods={whole} />
    </>
  );
}

function isSame(one: Methods, other: Methods): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
