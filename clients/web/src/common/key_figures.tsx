/** The figures to read first: losses, scores and rows, as the answer writes them. */

import type { v1 } from "onnxplain/rest";
import { plain } from "./name";
import { RULES } from "./rules";

export function KeyFigures({ figures }: { figures: readonly v1.KeyFigure[] }) {
  if (figures.length === 0) return null;
  const more = moreFigures(figures);
  return (
    <>
      <dl class="key-figures" aria-label="Key figures">
        {figures
          .slice(0, RULES.most_key_figures)
          .map(({ name, value, unit, comparison }, index) => (
            <div key={index}>
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
      {more !== "" && <p class="note">{more}</p>}
    </>
  );
}

/** The sentence on figures beyond those that are shown; empty without any. */
export function moreFigures(figures: readonly v1.KeyFigure[]): string {
  const count = figures.length - RULES.most_key_figures;
  return count > 0 ? `${count} more key figures stand in the last section.` : "";
}
