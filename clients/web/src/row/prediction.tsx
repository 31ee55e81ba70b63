/** What the model predicts for the row. */

import { number } from "../common/formats";
import { Name } from "../common/name";
import { Problem } from "../common/problem";
import { Warnings } from "../common/warnings";
import { usePrediction } from "./predicting";
import type { Described, Values } from "./values";

interface Props {
  readonly values: Values;
  readonly columns: readonly Described[];
}

export function Prediction({ values, columns }: Props) {
  const { found, error } = usePrediction(columns, [values]);
  const { outputNames = [], values: predicted = [], warnings = [] } = found.value ?? {};
  return (
    <section class="card">
      <h2>Prediction</h2>
      {error.value !== undefined && <Problem error={error.value} title="Nothing is predicted" />}
      <dl aria-live="polite">
        {outputNames.map((name, k) => (
          <div key={name}>
            <dt>
              <Name text={name} />
            </dt>
            <dd class="prediction">{number(predicted[k])}</dd>
          </div>
        ))}
      </dl>
      <Warnings warnings={warnings} />
    </section>
  );
}
