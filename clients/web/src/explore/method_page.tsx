/** One method: what it found, with what is known about it. */

import type { Explanations } from "onnxplain/rest";
import { answers, type Methods } from "../shared/runs";
import { question } from "../shared/store";
import { Warnings } from "../shared/warnings";
import { Compute } from "./compute";
import { Finding } from "./finding";
import type { About } from "./methods";
import { Receipt } from "./receipt";
import { RequestCode } from "./request_code";

export function MethodPage({ about }: { about: About }) {
  const whole: Methods = [{ [about.name]: {} } as Methods[number]];
  const found = answers.value.flatMap(({ methods, found }) =>
    found.all
      .filter(({ method }) => method === about.name)
      .filter(() => methods.length === 0 || JSON.stringify(methods) === JSON.stringify(whole))
      .map((explanation) => ({ explanation, found, methods })),
  );
  const last = found.at(-1);
  const lacksTarget = about.needsTarget && question.value.target === "";
  return (
    <>
      <h1>{about.title}</h1>
      <p class="question">{about.question}</p>
      {last && <Warnings warnings={last.found.warnings} />}
      {last && <Finding explanation={last.explanation} />}
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
      {last && <Receipt found={last.found as Explanations} />}
      <RequestCode methods={whole} />
    </>
  );
}
