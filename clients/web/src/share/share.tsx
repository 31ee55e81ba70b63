/** The last room: what was found, to give to others. */

import { useSignal } from "@preact/signals";
import { allDrawn } from "../charts/drawing_queue";
import { Problem } from "../common/problem";
import { answers } from "../common/runs";
import { save } from "../common/saving";
import { question } from "../common/store";
import { Summary } from "../common/summary";
import { doubtsOf, Warnings } from "../common/warnings";
import { Finding } from "../explore/finding";
import { about } from "../explore/methods";
import { Receipt } from "../explore/receipt";
import { isNumber, sectionsOf } from "../explore/sections";
import { cardOf } from "./card";
import { contentsOf, withPictures } from "./contents";
import { notes } from "./notes";
import { titleOf } from "./titles";

const CHARTS = 12;

export function Share() {
  const all = answers.value;
  const title = titleOf(question.value);
  return (
    <>
      <h1>{title}</h1>
      <Address />
      <section class="tools-of-share">
        <label>
          Notes of your own, for the report
          <textarea
            value={notes.value}
            onInput={(event) => {
              notes.value = event.currentTarget.value;
            }}
          />
        </label>
        <Files title={title} />
      </section>
      {notes.value !== "" && <p class="printed">{notes.value}</p>}
      {all.length === 0 && <p>Nothing is computed yet in this page.</p>}
      {all.map(({ found, methods }) => (
        <article key={JSON.stringify(methods)}>
          <Summary sentences={found.message.summary} figures={found.message.keyFigures} />
          <Warnings warnings={doubtsOf(found.warnings)} />
          {sectionsOf(found.all).map((section, index) => {
            const method = about(section[0]?.method);
            const drawn = section.filter((each) => !isNumber(each));
            const leftOut =
              Math.max(0, ...drawn.map(({ message }) => message.plots.length)) - CHARTS;
            return (
              <section key={index}>
                <h2>{method?.title}</h2>
                <p class="question">{method?.question}</p>
                {drawn.map((explanation, place) => (
                  <Finding
                    key={place}
                    explanation={explanation}
                    chartCount={CHARTS}
                    tables={false}
                  />
                ))}
                {leftOut > 0 && (
                  <p class="note">
                    {leftOut} more charts are left out here, and are drawn in the report as far as
                    they find room.
                  </p>
                )}
              </section>
            );
          })}
          <Receipt found={found} />
        </article>
      ))}
    </>
  );
}

/** The address of this page, which a colleague with the right to the content can open. */
function Address() {
  const isCopied = useSignal(false);
  return (
    <p class="tools">
      <button
        type="button"
        onClick={async () => {
          await navigator.clipboard.writeText(location.href);
          isCopied.value = true;
        }}
      >
        Copy the address
      </button>{" "}
      <span class="note" aria-live="polite">
        {isCopied.value
          ? "Copied."
          : "It holds the question and the names of the content, and no content. It works as long as the server keeps both, for callers who may use them."}
      </span>
    </p>
  );
}

function Files({ title }: { title: string }) {
  const isMaking = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const isEmpty = answers.value.length === 0;
  const keep = async () => {
    isMaking.value = true;
    error.value = undefined;
    try {
      const { reportOf, roomOf } = await import("./report");
      const { pictureOf } = await import("../charts/vega");
      const found = answers.value;
      const text = contentsOf(title, notes.value, found);
      const whole = await withPictures(text, found, pictureOf, roomOf(text));
      save(`${title}.html`, "text/html", reportOf(whole));
    } catch (fault) {
      error.value = fault;
    } finally {
      isMaking.value = false;
    }
  };
  return (
    <>
      <p class="tools">
        <button type="button" class="strong" disabled={isEmpty || isMaking.value} onClick={keep}>
          Report as one HTML file
        </button>
        <button
          type="button"
          disabled={isEmpty}
          onClick={() => void allDrawn().then(() => print())}
        >
          Print, or save as PDF
        </button>
        <button
          type="button"
          disabled={isEmpty}
          onClick={() =>
            save(`${title}.md`, "text/markdown", cardOf(title, notes.value, answers.value))
          }
        >
          Section of a model card
        </button>
        <span class="note" aria-live="polite">
          {isMaking.value && "Drawing…"}
        </span>
      </p>
      {error.value !== undefined && <Problem error={error.value} title="No report" />}
    </>
  );
}
