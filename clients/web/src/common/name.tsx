/** Names from models and tables, which may be anything: text only, apart from what is around it. */

import { useSignal } from "@preact/signals";

const SHOWN = 80;

// What changes the direction of a text, or cannot be seen; `bdi` keeps the first within the name.
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** A name with signs that cannot be seen shown as such. */
export function plain(name: string): string {
  return name.replace(UNSEEN, "\ufffd");
}

/** A name cut to a length. */
export function clipped(name: string, length = SHOWN): string {
  const signs = Array.from(plain(name).slice(0, 2 * length + 2));
  return signs.length > length ? `${signs.slice(0, length).join("")}…` : signs.join("");
}

/** A name in running text. */
export function Name({ text, length = SHOWN }: { text: string; length?: number }) {
  return <bdi class="name">{clipped(text, length)}</bdi>;
}

/** A name whose whole text can be asked for, where it was cut. */
export function LongName({ text }: { text: string }) {
  return clipped(text) === plain(text) ? <Name text={text} /> : <CutName text={text} />;
}

function CutName({ text }: { text: string }) {
  const isOpen = useSignal(false);
  return (
    <>
      <bdi class="name">{isOpen.value ? plain(text) : clipped(text)}</bdi>{" "}
      <button
        type="button"
        class="quiet"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {isOpen.value ? "Less" : "Whole name"}
      </button>
    </>
  );
}

/** Names of a pair or triple. */
export function Names({ texts }: { texts: readonly string[] }) {
  return texts.map((text, index) => (
    <span key={text}>
      {index > 0 ? " × " : ""}
      <Name text={text} length={40} />
    </span>
  ));
}
