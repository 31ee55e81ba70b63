/** One feature: its curve, its rows, its interactions, vectors and weights. */

import type { MethodName } from "onnxplain/rest";
import { LongName, Names } from "../common/name";
import { answers, type Methods } from "../common/runs";
import { hrefOf } from "../common/store";
import { DataTable } from "../tables/data_table";
import { Compute } from "./compute";
import { Finding } from "./finding";
import { pathOf } from "./links";
import { about } from "./methods";
import { RequestCode } from "./request_code";
import { tablesOf } from "./tables";

export function FeaturePage({ feature }: { feature: string }) {
  const curve: Methods = [{ partialDependence: { features: [{ names: [feature] }] } }];
  const rows: Methods = [{ individualConditionalExpectation: { features: [feature] } }];
  return (
    <>
      <h1>
        <LongName text={feature} />
      </h1>
      <Asked title="Its curve" methods={curve} />
      <Asked title="Its rows" methods={rows} />
      <Mentions feature={feature} />
      <RequestCode methods={[...curve, ...rows]} />
    </>
  );
}

/** A question of this page, with its answer once it is there. */
export function Asked({ title, methods }: { title: string; methods: Methods }) {
  const key = JSON.stringify(methods);
  const answer = answers.value.find((each) => JSON.stringify(each.methods) === key);
  return (
    <section>
      <h2>{title}</h2>
      {answer === undefined && <Compute title={title} methods={methods} />}
      {answer?.found.all.map((explanation) => (
        <Finding key={title} explanation={explanation} />
      ))}
    </section>
  );
}

const MENTIONED: readonly MethodName[] = [
  "interactions",
  "permutationImportance",
  "featureVectors",
  "firm",
  "swarm",
  "attributions",
];

/** What other methods found about the feature. */
function Mentions({ feature }: { feature: string }) {
  return (
    <section>
      <h2>In other methods</h2>
      {MENTIONED.map((name) => {
        const found = answers.value.flatMap((answer) =>
          answer.found.all.filter(({ method }) => method === name),
        );
        const last = found.at(-1);
        const method = about(name);
        if (method === undefined) return null;
        const link = <a href={hrefOf({ room: "explore", path: [name] })}>{method.title}</a>;
        if (last === undefined) {
          return (
            <p key={name}>
              {link}: <span class="note">not computed yet</span>
            </p>
          );
        }
        return (
          <div key={name}>
            <h3>{link}</h3>
            {tablesOf(last).map((table) => {
              const kept = table.rows.filter((_, index) =>
                table.features[index]?.includes(feature),
              );
              if (kept.length === 0) return null;
              return (
                <DataTable
                  key={table.title}
                  grid={{ ...table, rows: kept }}
                  first={(row) => {
                    const names = table.features[table.rows.indexOf(row)] ?? [];
                    return (
                      <a href={hrefOf({ room: "explore", path: pathOf(names) })}>
                        <Names texts={names} />
                      </a>
                    );
                  }}
                />
              );
            })}
          </div>
        );
      })}
    </section>
  );
}
