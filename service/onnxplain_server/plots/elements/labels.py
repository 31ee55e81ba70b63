"""Names in plots and reports: printable, distinct and short."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from onnxplain_server.core.model import distinct_names

_NUMBER = r"-?\d+\.?\d*(?:e[-+]\d+)?"
_INTERVAL = re.compile(rf"[\[(]{_NUMBER},{_NUMBER}[\])]")
_IDENTIFIER_LENGTH = 60
_COMPARISONS = ("=", "<", ">", "≤", "≥", "≠")
_BEFORE = 3
"""Letters that are shown before the first one in which names differ."""

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
    return distinct_names(map(clean, names))


def spell_interval(name: str) -> str:
    """Write the ends of an interval without exponents up to 10⁹: "[0,1.5e+04]" is "[0,15000]"."""
    if not _INTERVAL.fullmatch(name):
        return name
    return re.sub(r"[^\[\](),]*e\+0\d", lambda number: f"{float(number[0]):.0f}", name)


def cut_end(text: str, limit: int) -> str:
    """Cut a text, such as a digest, at its end."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def shorten(name: str, limit: int = 40) -> str:
    """Cut a clean name in its middle: names of encoded columns differ at their ends."""
    if len(name) <= limit:
        return name
    tail = limit // 3
    return f"{name[: limit - tail - 1].rstrip()}…{name[len(name) - tail :].lstrip()}"


def shorten_apart(names: Sequence[str], limit: int) -> tuple[str, ...]:
    """Cut distinct names to distinct ones: in their middle, or around where they differ."""
    short = [shorten(name, limit) for name in names]
    alike: dict[str, list[int]] = {}
    for place, text in enumerate(short):
        alike.setdefault(text, []).append(place)
    for places in (places for places in alike.values() if len(places) > 1):
        begin = _first_difference([names[place] for place in places])
        for place in places:
            short[place] = _around(names[place], begin, limit)
    return distinct_names(short)


def short_names(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return a clean, short and distinct label for each name."""
    distinct = list(dict.fromkeys(names))
    return dict(zip(distinct, shorten_apart(distinguish(distinct), limit), strict=True))


def quoted(name: str, *signs: str) -> str:
    """Put a clean name in quotation marks where it holds a sign that joins or follows names."""
    return f"“{name}”" if any(sign in f" {name} " for sign in signs) else name


def is_comparison(name: str) -> bool:
    """Tell whether a name holds a sign of comparison, as "age > 30" does."""
    return any(sign in name for sign in _COMPARISONS)


def with_value(name: str, value: str) -> str:
    """Write "rooms = 7"; a clean name with a comparison of its own has quotation marks."""
    return f"{quoted(name, *_COMPARISONS)} = {value}"


def _first_difference(names: Sequence[str]) -> int:
    """Return the place of the first letter that is not the same in all names."""
    letters = enumerate(zip(*names, strict=False))
    return next((k for k, own in letters if len(set(own)) > 1), min(map(len, names)))


def _around(name: str, place: int, limit: int) -> str:
    """Cut a name to its start, and what begins shortly before a place in it."""
    head = limit // 3
    begin = max(place - _BEFORE, head)
    tail = name[begin : begin + limit - head - 2]
    return f"{name[:head]}…{tail}{'…' if begin + len(tail) < len(name) else ''}"


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
