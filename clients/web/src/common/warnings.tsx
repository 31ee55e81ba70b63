/** What to know before trusting the numbers, and how these were made. */

import { v1 } from "onnxplain/rest";
import { plain } from "./name";
import { RULES } from "./rules";

const LIST = new RegExp(RULES.list, "s");

interface Told {
  readonly code?: string;
  readonly message?: string;
  readonly kind?: v1.Warning_Kind;
}

interface Props {
  readonly warnings: readonly Told[];
  readonly title?: string;
}

export function Warnings({ warnings, title = "Before you trust the numbers" }: Props) {
  if (warnings.length === 0) return null;
  return (
    <div class="warnings" role="note">
      <p>
        <strong>{title}</strong>
      </p>
      <Messages warnings={warnings} />
    </div>
  );
}

/** How the answer was made, where something is to be said about it. */
export function Remarks({ warnings }: { warnings: readonly Told[] }) {
  const made = remarksOf(warnings);
  return made.length === 0 ? null : <Messages warnings={made} />;
}

/** Those that tell how the answer was made. */
export function remarksOf<W extends Told>(warnings: readonly W[]): W[] {
  return warnings.filter(({ kind }) => kind === v1.Warning_Kind.HOW_IT_WAS_MADE);
}

/** Those that doubt the answer; others are sentences of its summary, or tell how it was made. */
export function doubtsOf<W extends Told>(warnings: readonly W[]): W[] {
  const { HOW_IT_WAS_MADE, SENTENCE } = v1.Warning_Kind;
  return warnings.filter(({ kind }) => kind !== HOW_IT_WAS_MADE && kind !== SENTENCE);
}

/** What stands before a long list of a message, the list, and what follows; no sentence is a list. */
export function aroundList(message: string): [string, string, string] {
  const [, head = "", list = "", rest = ""] = LIST.exec(message) ?? [];
  return list.length > RULES.long_list ? [head, list, rest] : [message, "", ""];
}

function Messages({ warnings }: { warnings: readonly Told[] }) {
  return (
    <ul>
      {warnings.map(({ code = "", message = "" }) => {
        const [head, list, rest] = aroundList(plain(message));
        return (
          <li key={code + message}>
            {list === "" ? (
              <bdi>{head}</bdi>
            ) : (
              <>
                <details>
                  <summary>
                    <bdi>{head}</bdi>
                  </summary>
                  <bdi>{list}</bdi>
                </details>{" "}
                <bdi>{rest}</bdi>
              </>
            )}{" "}
            <code>{code}</code>
          </li>
        );
      })}
    </ul>
  );
}
