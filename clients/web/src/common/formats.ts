/** Numbers and texts as people read them. */

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const LARGE = 1e9;

// Whole numbers in tables are often names, of which no digit may go.
const WHOLE = 1e15;
const SMALL = 1e-6;
const DIGITS = 4;
const MOST_DIGITS = 6;
const SUMMATION_ERROR = 1e-12;

/** A whole number, with separators of thousands. */
export function count(value: number): string {
  return Number.isFinite(value) ? GROUPED.format(value) : "–";
}

/** A number with four digits that count; `–` for one that is missing. */
export function number(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < WHOLE) {
    return size < 10 ** DIGITS ? signed(String(value)) : signed(count(value));
  }
  if (size >= WHOLE || size < SMALL) return signed(value.toExponential(2));
  if (size >= LARGE) return signed(GROUPED.format(Number(value.toPrecision(DIGITS))));
  if (size >= 10 ** DIGITS) return signed(GROUPED.format(value));
  return signed(belowOne(value) ?? String(Number(value.toPrecision(DIGITS))));
}

/** A number of a size below 1 that four digits would make 1, with as many as it takes. */
function belowOne(value: number): string | undefined {
  const size = Math.abs(value);
  if (size >= 1 - SUMMATION_ERROR || Number(size.toPrecision(DIGITS)) !== 1) return undefined;
  const digits = -Math.floor(Math.log10(1 - size));
  return digits > MOST_DIGITS ? `almost ${value < 0 ? "-" : ""}1` : value.toFixed(digits);
}

/** A time in the unit that suits it. */
export function seconds(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value < 1) return "under 1 s";
  if (value < 90) return `${Math.round(value)} s`;
  if (value < 5_400) return `${Math.round(value / 60)} min`;
  return `${number(value / 3_600)} h`;
}

/** An interval of times. */
export function between(low: number, high: number): string {
  const ends = [seconds(low), seconds(high)];
  return ends[0] === ends[1] ? String(ends[0]) : ends.join(" to ");
}

/** A share as percentage. */
export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** The name of a method, a state or a warning in words. */
export function words(name: string): string {
  const text = name
    .replace(/_/g, " ")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function signed(text: string): string {
  return text.replace("-", "−").replace("e+", "e");
}
