/** What was found, in the answer's sentences; names in them come from strangers. */

import { plain } from "./name";

export function Summary({ sentences }: { sentences: readonly string[] }) {
  const [lead, ...others] = sentences;
  if (lead === undefined) return null;
  return (
    <div class="summary" role="note" aria-label="Summary">
      <p class="found">
        <bdi>{plain(lead)}</bdi>
      </p>
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
