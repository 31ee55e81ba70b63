"""Ranges of numbers, read from the comments of the contract, which follow one convention.

"In [2, 64]", "in (0, 1]", "At least 0", "at most 100", "Positive"; and
"0 turns it off, otherwise in [10, 10000]" or "0, or in [10, 10000]".
"""

from __future__ import annotations

import re

from tools.openapi.values import Schema

_NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
_INTERVAL = re.compile(rf"\b[Ii]n ([\[(]){_NUMBER}, {_NUMBER}([\])])")
_OFF = re.compile(r"\b0(?: turns it off, otherwise|, or) in \[")
_ENDS = {
    "minimum": re.compile(rf"\b[Aa]t least {_NUMBER}(?!\d| /)"),
    "maximum": re.compile(rf"\b[Aa]t most {_NUMBER}"),
}


def of_comment(comment: str) -> Schema:
    """Return the range that a number must be in, as members of its schema."""
    if found := _INTERVAL.search(comment):
        return _of_interval(*found.groups(), off=bool(_OFF.search(comment)))
    if "Positive" in comment:
        return {"exclusiveMinimum": 0}
    ends = ((name, pattern.search(comment)) for name, pattern in _ENDS.items())
    return {name: _number(end[1]) for name, end in ends if end}


def _of_interval(left: str, low: str, high: str, right: str, *, off: bool) -> Schema:
    first = "minimum" if left == "[" else "exclusiveMinimum"
    last = "maximum" if right == "]" else "exclusiveMaximum"
    schema: Schema = {first: _number(low), last: _number(high)}
    if off:
        return {**schema, "minimum": 0, "anyOf": [{"maximum": 0}, {"minimum": schema[first]}]}
    return schema


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)
