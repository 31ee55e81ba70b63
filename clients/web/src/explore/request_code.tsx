/** The request of what is shown, to copy into a program. */

import { useSignal } from "@preact/signals";
import type { Methods } from "../common/runs";
import { base, options } from "../common/server";
import { question } from "../common/store";
import { LANGUAGES, type Language, programOf } from "./programs";

const BY_GRPC: readonly Language[] = ["Python", "Go", "Java", "TypeScript"];

export function RequestCode({ methods }: { methods: Methods }) {
  const language = useSignal<Language>("JSON");
  const isCopied = useSignal(false);
  const { model, table, seconds } = question.value;
  if (model === undefined || table === undefined) return null;
  const budget = methods.length === 0 ? { budgetSeconds: seconds } : {};
  const asked = { model, table, options: { ...options(question.value), ...budget }, methods };
  const text = programOf(language.value, asked, base());
  return (
    <details class="code">
      <summary>The request, to copy</summary>
      <fieldset class="switch">
        <legend class="hidden">Language</legend>
        {LANGUAGES.map((name) => (
          <label key={name}>
            <input
              type="radio"
              name={`language-${JSON.stringify(methods)}`}
              checked={name === language.value}
              onChange={() => {
                language.value = name;
                isCopied.value = false;
              }}
            />{" "}
            {name}
          </label>
        ))}
      </fieldset>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <pre tabIndex={0} dir="ltr">
        {text}
      </pre>
      {BY_GRPC.includes(language.value) && (
        <p class="note">
          By gRPC, on the port that a server has unless told otherwise. A token is given where the
          client connects.
        </p>
      )}
      <p aria-live="polite">
        <button
          type="button"
          onClick={async () => {
            await navigator.clipboard.writeText(text);
            isCopied.value = true;
          }}
        >
          Copy
        </button>{" "}
        {isCopied.value && <span class="note">Copied.</span>}
      </p>
    </details>
  );
}
