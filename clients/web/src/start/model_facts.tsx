/** What the model takes and gives. */

import { count } from "../common/formats";
import { Name, plain } from "../common/name";
import { Problem } from "../common/problem";
import { describing, faults, model } from "../common/store";

const LISTED = 12;

export function ModelFacts() {
  const found = model.value;
  const fault = faults.value.model;
  return (
    <section class="card">
      <h2>The model</h2>
      <p aria-live="polite" class="note">
        {describing.value.model && "The server reads the model…"}
      </p>
      {fault !== undefined && <Problem error={fault} title="The model cannot be explained" />}
      {found && found.summary !== "" && (
        <p>
          <bdi>{plain(found.summary)}</bdi>
        </p>
      )}
      {found && (
        <dl>
          <div>
            <dt>Inputs</dt>
            {found.inputs.slice(0, LISTED).map((each) => (
              <dd key={each.name}>
                <Name text={each.name} />: {each.type}
                {each.width > 1 && ` × ${count(each.width)}`}
              </dd>
            ))}
            <More all={found.inputs.length} />
          </div>
          <div>
            <dt>{found.hasClassScores ? "Classes" : "Outputs"}</dt>
            {found.outputNames.slice(0, LISTED).map((name) => (
              <dd key={name}>
                <Name text={name} />
              </dd>
            ))}
            <More all={found.outputNames.length} />
          </div>
          {found.featureNames.length > 0 && (
            <div>
              <dt>Features that it names</dt>
              <dd>{count(found.featureNames.length)}</dd>
            </div>
          )}
          {found.producer !== "" && (
            <div>
              <dt>Written by</dt>
              <dd>
                <Name text={found.producer} />
              </dd>
            </div>
          )}
        </dl>
      )}
    </section>
  );
}

function More({ all }: { all: number }) {
  return all > LISTED ? <dd class="note">and {count(all - LISTED)} more</dd> : null;
}
