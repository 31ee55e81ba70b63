/** The features of a row, each of which can be moved. */

import { useSignal } from "@preact/signals";
import { isText } from "../common/calls";
import { number } from "../common/formats";
import { clipped, Name } from "../common/name";
import type { Described, Values } from "./values";

interface Props {
  readonly columns: readonly Described[];
  readonly values: Values;

  /** The feature whose curve is shown. */
  readonly looked: string;
  readonly onLook: (name: string) => void;
  readonly onMove: (name: string, value: number | string) => void;
}

const LISTED = 20;

export function Moves({ columns, ...rest }: Props) {
  const sought = useSignal("");
  const text = sought.value.toLowerCase();
  const found = columns.filter(({ name }) => name.toLowerCase().includes(text));
  return (
    <>
      {columns.length > LISTED && (
        <p>
          <label>
            Search{" "}
            <input
              type="search"
              value={sought.value}
              onInput={(event) => {
                sought.value = event.currentTarget.value;
              }}
            />
          </label>{" "}
          <span class="note">{found.length} features</span>
        </p>
      )}
      <div class="moves">
        {found.slice(0, 2 * LISTED).map((column) => (
          <Move key={column.name} column={column} {...rest} />
        ))}
      </div>
    </>
  );
}

function Move({
  column,
  values,
  looked,
  onLook,
  onMove,
}: Omit<Props, "columns"> & { column: Described }) {
  const { name, minimum, maximum, frequentValues } = column;
  const value = values[name];
  const move = (to: number | string) => {
    onLook(name);
    onMove(name, to);
  };
  const label = (
    <button
      type="button"
      class="quiet look"
      aria-pressed={name === looked}
      onClick={() => onLook(name)}
    >
      <Name text={name} length={40} />
      <span class="hidden">: show its curve</span>
    </button>
  );
  if (isText(column)) {
    const texts = frequentValues.map((each) => each.value);
    const own = String(value ?? "");
    return (
      <div class="move">
        {label}
        <select
          aria-label={clipped(name)}
          value={own}
          onChange={(event) => move(event.currentTarget.value)}
        >
          {(texts.includes(own) ? texts : [own, ...texts]).map((text) => (
            <option key={text} value={text}>
              {text === "" ? "missing" : clipped(text)}
            </option>
          ))}
        </select>
      </div>
    );
  }
  const [low, high] = [Number(minimum ?? 0), Number(maximum ?? 0)];
  return (
    <div class="move">
      {label}
      <input
        type="range"
        aria-label={`Move ${clipped(name)}`}
        aria-valuetext={number(Number(value))}
        min={low}
        max={high}
        step="any"
        value={Number(value)}
        onInput={(event) => move(event.currentTarget.valueAsNumber)}
      />
      <input
        type="number"
        aria-label={clipped(name)}
        step="any"
        value={Number.isNaN(Number(value)) ? "" : Number(Number(value).toPrecision(6))}
        onChange={(event) => move(event.currentTarget.valueAsNumber)}
      />
    </div>
  );
}
