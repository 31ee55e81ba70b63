/** How numbers were made. */

import { type Explanations, v1 } from "onnxplain/rest";
import { count, number, words } from "../common/formats";
import { Name } from "../common/name";
import { save } from "../common/saving";
import { Remarks } from "../common/warnings";

interface Props {
  readonly found: Explanations;
  readonly title?: string;

  /** The file of the whole answer. */
  readonly file?: string;
}

const TITLE = "How these numbers were made";

export function Receipt({ found, title = TITLE, file = "answer.json" }: Props) {
  const { receipt } = found;
  if (receipt === undefined) return null;
  const elapsed = Number(receipt.elapsed?.seconds ?? 0) + (receipt.elapsed?.nanos ?? 0) / 1e9;
  const facts: readonly [string, string][] = [
    ["Rows drawn at most", count(receipt.rowCount)],
    ["Rows predicted", count(receipt.predictedRowCount)],
    ["Computed by", words(v1.ExplainRequest_Engine[receipt.engine] ?? "")],
    ["Because", receipt.engineReason],
    ["Seed", String(receipt.seed)],
    ["Seconds", number(elapsed)],
    ["Model", receipt.modelDigest],
    ["Table", receipt.tableDigest],
    ["Server", receipt.serverVersion],
  ];
  return (
    <section class="receipt">
      <h2>{title}</h2>
      <Remarks warnings={found.warnings} />
      <dl>
        {facts
          .filter(([, value]) => value !== "")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Name text={value} length={200} />
              </dd>
            </div>
          ))}
      </dl>
      <p>
        <button
          type="button"
          class="quiet"
          onClick={() =>
            save(file, "application/json", JSON.stringify(found.toJson(), undefined, 1))
          }
        >
          The whole answer as JSON
          {title !== TITLE && <span class="hidden">: {title}</span>}
        </button>
      </p>
    </section>
  );
}
