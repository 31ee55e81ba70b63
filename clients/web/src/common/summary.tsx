/** What was found, in the answer's sentences; names in them come from strangers. */

import type { v1 } from "onnxplain/rest";
import { KeyFigures } from "./key_figures";
import { plain } from "./name";
import { RULES } from "./rules";

interface Props {
  readonly sentences: readonly string[];
  readonly figures?: readonly v1.KeyFigure[];
}

export function Summary({ sentences, figures = [] }: Props) {
  if (sentences.length === 0) return null;
  const leading = sentences.slice(0, RULES.leading_sentences);
  const others = sentences.slice(leading.length);
  return (
    <div class="summary" role="note" aria-label="Summary">
      {leading.map((sentence) => (
        <p class="found" key={sentence}>
          <bdi>{plain(sentence)}</bdi>
        </p>
      ))}
      <KeyFigures figures={figures} />
      {others.length > 0 && (
        <ul class="found">
          {others.map((sentence) => (
            <li key={sentence}>
              <bdi>{plain(sentence)}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
