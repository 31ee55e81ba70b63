/** The figures to read first: losses, scores and rows, as the answer writes them. */

import type { v1 } from "onnxplain/rest";
import { plain } from "./name";

export function KeyFigures({ figures }: { figures: readonly v1.KeyFigure[] }) {
  if (figures.length === 0) return null;
  return (
    <dl class="key-figures" aria-label="Key figures">
      {figures.map(({ name, value, unit, comparison }) => (
        <div key={name}>
          <dt>
            <bdi>{plain(name)}</bdi>
          </dt>
          <dd>
            <b>{value}</b> <bdi>{plain(unit)}</bdi>
          </dd>
          {comparison !== "" && <dd>{comparison}</dd>}
        </div>
      ))}
    </dl>
  );
}
