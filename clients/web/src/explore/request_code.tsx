/** The request of what is shown, to copy into a program. */
import type { Methods } from "../shared/runs";
export function RequestCode({ methods }: { methods: Methods }) {
  return <span hidden>{methods.length}</span>;
}
