"""Text of plots and reports: printable, distinct and short names; rounded numbers."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array

_DATA_DIGITS = 9
_NUMBER = r"-?\d+\.?\d*(?:e[-+]\d+)?"
_INTERVAL = re.compile(rf"[\[(]{_NUMBER},{_NUMBER}[\])]")
_IDENTIFIER_LENGTH = 60

# Vega 6 fails on texts and sort keys that are exactly these, as it takes them for its own code.
_VEGA_RESERVED = frozenset(
    {
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
        "constructor",
        "hasOwnProperty",
        "if",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    }
)


def clean(name: str) -> str:
    r"""Make a name printable: characters that are not become escapes like \u0007.

    So do characters beyond the first 65,536, which Vega may cut into half a surrogate pair when
    it shortens a label, an error for renderers. Blank names get quotation marks.
    """
    drawable = (c if c.isprintable() and c <= "\uffff" else f"\\u{ord(c):04x}" for c in name)
    printable = "".join(drawable)
    quoted = not printable.strip() or printable in _VEGA_RESERVED
    return f"“{printable}”" if quoted else printable


def distinguish(names: Iterable[str]) -> tuple[str, ...]:
    """Clean names, and number those that are then equal."""
    unique: dict[str, None] = {}
    for name in map(clean, names):
        number, candidate = 1, name
        while candidate in unique:
            number, candidate = number + 1, f"{name} ({number + 1})"
        unique[candidate] = None
    return tuple(unique)


def spell_interval(name: str) -> str:
    """Write the ends of an interval without exponents up to 10⁹: "[0,1.5e+04]" is "[0,15000]"."""
    if not _INTERVAL.fullmatch(name):
        return name
    return re.sub(r"[^\[\](),]*e\+0\d", lambda number: f"{float(number[0]):.0f}", name)


def shorten(name: str, limit: int = 40) -> str:
    """Cut a clean name for titles and sentences."""
    return name if len(name) <= limit else f"{name[: limit - 1].rstrip()}…"


def shorten_inside(name: str, limit: int) -> str:
    """Cut a clean name in its middle: names of encoded columns differ at their ends."""
    if len(name) <= limit:
        return name
    tail = limit // 3
    return f"{name[: limit - tail - 1].rstrip()}…{name[len(name) - tail :].lstrip()}"


def identifiers(stems: Iterable[str]) -> tuple[str, ...]:
    """Turn names into distinct identifiers of letters a-z, A-Z, digits and "-"."""
    unique: dict[str, None] = {}
    for stem in stems:
        plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
        name = re.sub(r"[^A-Za-z0-9]+", "-", plain)[:_IDENTIFIER_LENGTH].strip("-") or "plot"
        number, candidate = 1, name
        while candidate in unique:
            number, candidate = number + 1, f"{name}-{number + 1}"
        unique[candidate] = None
    return tuple(unique)


def enumerate_words(items: Sequence[str]) -> str:
    """Join words as in a sentence: "a, b and c"."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def data_number(value: float) -> float:
    """Round to nine digits, more than any plot shows; keeps specifications short."""
    return float(f"{value:.{_DATA_DIGITS}g}")


def share_format(values: Array) -> str:
    """Choose a d3 format for separate numbers: three significant digits, or to whole units."""
    largest = _largest(values)
    if largest != 0 and not 1e-4 <= largest < 1e9:
        return ".2~e"
    digits = math.floor(math.log10(largest)) + 1 if largest else 0
    return f",.{max(digits, 3)}~r"


def scale_format(values: Array) -> str:
    """Choose a d3 format for numbers on one scale: it resolves a hundredth of their span."""
    largest = _largest(values)
    if largest != 0 and not 1e-4 <= largest < 1e9:
        return ".3~e"
    finite = values[np.isfinite(values)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    decimals = 2 - math.floor(math.log10(span if span > 1e-9 * largest else largest or 1.0))
    # No separator below 10,000, so that years look like years.
    separator = "," if largest >= 10_000 else ""
    return f"{separator}.{min(max(decimals, 0), 12)}~f"


def spell(value: float, d3_format: str) -> str:
    """Format a number as d3 does, by one of the formats of this file."""
    digits, kind = int(re.sub(r"\D", "", d3_format)), d3_format[-1]
    if kind == "e":
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        text = f"{_trim(mantissa)}e{int(exponent):+d}"
    elif kind == "r":
        text = _significant(value, digits)
    else:
        text = _trim(f"{value:{d3_format.replace('~', '')}}")
    return text.replace("-", "−") if text != "-0" else "0"


def spell_on_scale(value: float, values: Array) -> str:
    """Format a number of a scale, rounded to a hundredth of the span of its values."""
    span = float(np.ptp(values[np.isfinite(values)]))
    decimals = 2 - math.floor(math.log10(span)) if span else 6
    return spell(round(value, decimals), scale_format(values))


def is_flat(values: Array) -> bool:
    """Tell whether numbers differ by no more than float32 rounding."""
    finite = values[np.isfinite(values)]
    return bool(finite.size and np.ptp(finite) <= 1e-6 * np.abs(finite).max())


def spell_beside(value: float, others: Array) -> str:
    """Format a number with three digits, or "almost 0" if it is tiny relative to the others."""
    if not math.isfinite(value):
        return "no number"
    if 0 < abs(value) < 1e-4 * _largest(others):
        return "almost 0"
    return spell_among(value, others)


def spell_among(value: float, others: Array) -> str:
    """Format a number with three digits, or to whole units; with an exponent if others have one."""
    number_format = share_format(others)
    digits = math.floor(math.log10(abs(value))) + 1 if value else 0
    return spell(value, f",.{max(digits, 3)}~r" if number_format.endswith("r") else number_format)


def spell_whole(value: float) -> str:
    """Format a count or a weight to whole units, or to six digits if that is finer."""
    if not math.isfinite(value):
        return "no number"
    is_whole = abs(value) >= 1e5 or value == round(value)
    text = f"{value:,.0f}" if is_whole and abs(value) < 1e15 else f"{value:,.6g}"
    return text.replace("-", "−")


def _significant(value: float, digits: int) -> str:
    """Round to significant digits, without exponent."""
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return _trim(f"{round(value, decimals):,.{max(decimals, 0)}f}")


def _trim(text: str) -> str:
    """Remove trailing zeros of a fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _largest(values: Array) -> float:
    """Return the largest finite magnitude; 0 if there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0
