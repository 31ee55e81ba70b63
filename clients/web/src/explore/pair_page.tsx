/** Features together: their surface, and how strongly they interact. */

import { Name, Names } from "../common/name";
import type { Methods } from "../common/runs";
import { hrefOf } from "../common/store";
import { Asked } from "./feature_page";
import { RequestCode } from "./request_code";

export function PairPage({ features }: { features: readonly string[] }) {
  const surface: Methods = [{ partialDependence: { features: [{ names: [...features] }] } }];
  const curves: Methods = [
    { partialDependence: { features: features.map((name) => ({ names: [name] })) } },
  ];
  return (
    <>
      <h1>
        <Names texts={features} />
      </h1>
      <p>
        Each by itself:{" "}
        {features.map((name, index) => (
          <span key={name}>
            {index > 0 && ", "}
            <a href={hrefOf({ room: "explore", path: ["feature", name] })}>
              <Name text={name} length={40} />
            </a>
          </span>
        ))}
      </p>
      <Asked title={features.length === 2 ? "Their surface" : "Together"} methods={surface} />
      <Asked title="Their curves" methods={curves} />
      <RequestCode methods={surface} />
    </>
  );
}
