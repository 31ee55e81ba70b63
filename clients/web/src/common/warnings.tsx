/** What to know before trusting the numbers. */

import { plain } from "./name";

interface Told {
  readonly code?: string;
  readonly message?: string;
}

export function Warnings({ warnings }: { warnings: readonly Told[] }) {
  if (warnings.length === 0) return null;
  return (
    <div class="warnings" role="note">
      <p>
        <strong>Before you trust the numbers</strong>
      </p>
      <ul>
        {warnings.map(({ code = "", message = "" }) => (
          <li key={code + message}>
            <bdi>{plain(message)}</bdi> <code>{code}</code>
          </li>
        ))}
      </ul>
    </div>
  );
}
