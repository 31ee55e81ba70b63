/** Takes a file by drop or choice, or an address that the server reads. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { config } from "../common/config";
import { count } from "../common/formats";
import { Name } from "../common/name";
import { Problem } from "../common/problem";
import type { Content } from "../common/question";
import { filesOf } from "./kinds";

export interface Props {
  readonly kind: "model" | "table";
  readonly title: string;
  readonly hint: string;
  readonly example: string;
  readonly accept: string;
  readonly keep: (files: readonly File[], signal: AbortSignal) => Promise<Content>;

  /** What is chosen. */
  readonly content: Content | undefined;
  readonly onChoose: (content: Content) => void;

  /** What is said of it. */
  readonly children?: ComponentChildren;
}

export function ContentField({ kind, title, hint, keep, content, onChoose, ...more }: Props) {
  const { example, accept, children } = more;
  const input = useRef<HTMLInputElement>(null);
  const isOver = useSignal(false);
  const sending = useSignal<{ name: string; ending: AbortController } | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const take = async (given: readonly File[]) => {
    // Model and table may be dropped at once; each field takes what is its own.
    const files = filesOf(kind, given);
    const file = files[0];
    if (file === undefined) return;
    sending.value?.ending.abort();
    const ending = new AbortController();
    sending.value = { name: file.name, ending };
    error.value = undefined;
    const most = config.value.uploadBytes?.[kind] ?? Number.POSITIVE_INFINITY;
    try {
      const size = files.reduce((sum, each) => sum + each.size, 0);
      if (size > most) throw new RangeError(tooLarge(size, most));
      const kept = await keep(files, ending.signal);
      if (sending.value?.ending === ending) onChoose(kept);
    } catch (fault) {
      if (!ending.signal.aborted) error.value = fault;
    } finally {
      if (sending.value?.ending === ending) sending.value = undefined;
    }
  };
  return (
    <section
      class={`field ${isOver.value ? "over" : ""}`}
      aria-label={title}
      onDragOver={(event) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => {
        isOver.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        isOver.value = false;
        void take([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <h2>{title}</h2>
      {content !== undefined && (
        <p class="chosen">
          <Name text={content.name === "" ? content.value : content.name} />
        </p>
      )}
      {children}
      <p>
        <button
          type="button"
          class={content ? "" : "strong"}
          onClick={() => input.current?.click()}
        >
          {content ? `Choose another ${kind}` : `Choose a ${kind}`}
        </button>{" "}
        <span class="note">or drop it here. {hint}.</span>
      </p>
      <input
        ref={input}
        class="hidden"
        type="file"
        tabIndex={-1}
        accept={accept}
        multiple={kind === "model"}
        aria-label={`File of the ${kind}`}
        onChange={(event) => {
          void take([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {config.value.hasSources !== false && <Address example={example} onChoose={onChoose} />}
      <p aria-live="polite">
        {sending.value && (
          <>
            Sending <Name text={sending.value.name} />…{" "}
            <button type="button" onClick={() => sending.value?.ending.abort()}>
              Cancel
            </button>
          </>
        )}
      </p>
      {error.value !== undefined && (
        <Problem error={error.value} title={`The ${kind} was not taken`} />
      )}
    </section>
  );
}

function tooLarge(size: number, most: number): string {
  return `It has ${count(size)} bytes, and this server takes at most ${count(most)} of one file.`;
}

/** An address below a prefix that the server's operator lists. */
function Address({ example, onChoose }: Pick<Props, "example" | "onChoose">) {
  const text = useSignal("");
  return (
    <details>
      <summary>By address</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const value = text.value.trim();
          if (value !== "") onChoose({ kind: "uri", value, name: lastOf(value) });
        }}
      >
        <label>
          Address that the server reads{" "}
          <input
            type="text"
            dir="ltr"
            placeholder={example}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
        </label>{" "}
        <button type="submit">Use it</button>
      </form>
    </details>
  );
}

function lastOf(address: string): string {
  return address.replace(/\/+$/, "").split("/").at(-1) ?? address;
}
