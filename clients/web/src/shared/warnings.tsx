/** What to know before trusting the numbers. */

import { plain } from "./name";

interface Told {
  readonly code?: string;
  readonly message?: string;
}

export function Warnings({ warnings }: { warnings: readonly Told[] }) {
  if (warnings.length === 0) return null;
  return (
    <aside aria-label="Warnings">
      <h3>Before you trust the numbers</h3>
      <ul>
        {warnings.map(({ code = "", message = "" }) => (
          <li key={code + message}>
            <bdi>{plain(message)}</bdi> <code>{code}</code>
          </li>
        ))}
      </ul>
    </aside>
  );
}
