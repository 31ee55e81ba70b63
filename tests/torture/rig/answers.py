"""Answers: what of them must be the same each time, and how the same."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""For floating-point numbers only, whose last digits follow the place of arrays in memory, as in
tests/isolation; names, counts, seeds, digests and the like are equal or wrong."""

_OWN = ("elapsed", "predictedRowCount", "cacheHitCount", "cacheMissCount")
"""What a receipt tells of one computation, and not of the answer."""


def document(message: Message) -> dict[str, Any]:
    """Write an answer as its canonical JSON has it, on every surface alike."""
    return MessageToDict(message, always_print_fields_with_no_presence=True)


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out what differs from one computation to the next."""
    if "receipt" not in answer:
        return answer
    receipt = {key: value for key, value in answer["receipt"].items() if key not in _OWN}
    return answer | {"receipt": receipt}


def digest(answer: dict[str, Any]) -> str:
    """Name an answer by its content: equal names are equal answers, bit by bit."""
    return hashlib.sha256(text(answer)).hexdigest()[:24]


def text(answer: dict[str, Any]) -> bytes:
    """Write an answer; numbers as short as they can be without loss."""
    return json.dumps(plain(answer), sort_keys=True).encode()


def same(found, expected) -> bool:
    """Whether two answers are equal, but for the last digits of their numbers."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            _same_plot(found[key], expected[key])
            if key == "vegaLite"
            else same(found[key], expected[key])
            for key in found
        )
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(found == expected)


def _same_plot(found: str, expected: str) -> bool:
    return same(json.loads(found), json.loads(expected))
