/** The fourth room: another model, other rows, or both, and what differs by more than chance. */

import { Name } from "../common/name";
import { compareWith, hrefOf, place, question } from "../common/store";
import { ModelField, TableField } from "../start/fields";
import { Changes } from "./changes";
import { CompareBoth } from "./compare_both";
import { compared, keyOfSides } from "./comparing";
import { nameOf, type Sides, sidesOf } from "./sides";

export function Compare() {
  const { model, table } = question.value;
  if (model === undefined || table === undefined) {
    return (
      <>
        <h1>Compare</h1>
        <p>
          <a href={hrefOf({ room: "start", path: [] })}>Choose a model and a table</a> first.
        </p>
      </>
    );
  }
  const { other } = place.value;
  const sides = sidesOf(place.value);
  const isChosen = other.model !== undefined || other.table !== undefined;
  const key = sides && keyOfSides(sides);
  const shown = compared.value?.key === key ? compared.value : undefined;
  return (
    <>
      <h1>Compare</h1>
      <p class="question">
        What has changed with another model, on other rows, or both, by more than chance?
      </p>
      <div class="fields">
        <ModelField
          title="Another model"
          content={other.model}
          onChoose={(content) => compareWith({ model: content })}
        >
          <Stays
            kind="model"
            name={nameOf(model)}
            isOther={other.model !== undefined}
            onStay={() => compareWith({ model: undefined })}
          />
        </ModelField>
        <TableField
          title="Another table"
          content={other.table}
          onChoose={(content) => compareWith({ table: content })}
        >
          <Stays
            kind="table"
            name={nameOf(table)}
            isOther={other.table !== undefined}
            onStay={() => compareWith({ table: undefined })}
          />
        </TableField>
      </div>
      {isChosen && sides === undefined && (
        <p>That is the model and the table of the page: nothing can have changed.</p>
      )}
      {sides && (
        <section class="card" aria-label="Comparison">
          <Told sides={sides} />
          <CompareBoth key={key} sides={sides} isAgain={shown !== undefined} />
        </section>
      )}
      {shown && <Changes compared={shown} />}
    </>
  );
}

interface StaysProps {
  readonly kind: "model" | "table";
  readonly name: string;
  readonly isOther: boolean;
  readonly onStay: () => void;
}

/** What stays, where nothing else is chosen; else the way back to it. */
function Stays({ kind, name, isOther, onStay }: StaysProps) {
  if (!isOther) {
    return (
      <p>
        {kind === "model" ? "The same model," : "The same rows, of"} <Name text={name} />
      </p>
    );
  }
  return (
    <p>
      <button type="button" class="quiet" onClick={onStay}>
        {kind === "model" ? "Stay with the same model" : "Stay with the same rows"}
      </button>
    </p>
  );
}

/** Both sides in words, and what they have in common. */
function Told({ sides }: { sides: Sides }) {
  const { before, after, hasOtherModel, hasOtherTable } = sides;
  const named = ({ model, table }: Sides["before"]) => (
    <b>
      {hasOtherModel && <Name text={nameOf(model)} />}
      {hasOtherModel && hasOtherTable && " on "}
      {hasOtherTable && <Name text={nameOf(table)} />}
    </b>
  );
  return (
    <>
      <p>
        Before: {named(before)}. After: {named(after)}.
        {!hasOtherTable && (
          <>
            {" "}
            Both on the same rows, of <Name text={nameOf(before.table)} />.
          </>
        )}
        {!hasOtherModel && (
          <>
            {" "}
            Both by the same model, <Name text={nameOf(before.model)} />.
          </>
        )}
      </p>
      <p class="note">
        {before.target === "" ? (
          "No losses are compared: the question has no target."
        ) : (
          <>
            The true values of both are in the column <Name text={before.target} />.
          </>
        )}{" "}
        Weights, class and features of the question hold for both.
      </p>
    </>
  );
}
