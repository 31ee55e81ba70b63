"""Numbers and names as sentences write them, beside those of an answer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.elements.labels import clean

Match = re.Match[str]
NUMBER = r"(−?[\d,]*\.?\d+(?:e[+−]\d+)?|almost −?[01]|no number|infinite)"
_ERRORS = 2.0


def all_outputs(answer: ExplainResponse) -> Iterator[list[str]]:
    """Yield the outputs or classes that each explanation names, and those of the model."""
    for explanation in answer.explanations:
        result = getattr(explanation, explanation.WhichOneof("result") or "")
        for field in ("output_names", "class_names"):
            if names := list(getattr(result, field, ())):
                yield names
    yield list(answer.model.output_names)


def are_outputs(text: str, names: Sequence[str]) -> bool:
    *others, last = map(clean, names)
    told = f"{', '.join(others)} and {last}" if others else last
    return text == told or "…" in text or text.startswith(f"{len(names)} outputs")


def is_of(text: str, outputs: Sequence[str]) -> bool:
    """Tell whether a text ends in the only output, or in the words for several or for their sum."""
    only = clean(outputs[0])
    if len(outputs) > 1 or only == "total":
        return not re.search(r"(of|for) [^,]+$", text) or "the output" in text or "loss" in text
    return text.endswith(only) or "…" in text or "multi-class" in text


def number(text: str) -> float:
    """Read a number as sentences write it."""
    return float(text.removeprefix("almost ").replace("−", "-").replace(",", ""))


def is_written(text: str, value: float, others: Array | Sequence[float] = ()) -> bool:
    """Tell whether a text stands for a number: three digits, or whole units below 1e9."""
    if text in {"no number", "infinite"}:
        return not math.isfinite(value)
    if not math.isfinite(value):
        return False
    if text in {"almost 1", "almost −1"}:
        return 0.999999 < value * number(text) < 1
    if text == "almost 0":
        return bool(abs(value) < 1e-4 * np.abs(np.asarray(others)).max(initial=0))
    own = number(text)
    if value == 0:
        return own == 0
    largest = max([abs(value), *np.abs(np.asarray(others, dtype=float)).ravel()])
    digits = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    unit = digits if abs(value) < 1e3 or largest >= 1e9 else 1.0
    return bool(abs(own - value) <= 0.501 * unit + 1e-9 * abs(value))


def rounding(values: Array) -> float:
    """Return how far a number may be from its text: half of a hundredth of their span."""
    span, largest = float(np.ptp(values)), float(np.abs(values).max(initial=0))
    if largest and not 1e-4 <= largest < 1e9:
        return 0.6e-3 * largest
    decimals = 2 - math.floor(math.log10(span if span > 1e-9 * largest else largest or 1))
    return 0.505 * 10.0 ** -min(max(decimals, 0), 12) + 1e-9 * largest


def named(names: Sequence[str], text: str, conjunction: str) -> bool:
    """Tell whether a text enumerates names: three, and how many there are more."""
    more = [f"{len(names) - 3} more"] if len(names) > 3 else []
    signs = (", ", f" {conjunction} ")
    told = [f"“{n}”" if any(s in f" {n} " for s in signs) else n for n in names[:3]]
    *others, last = [*(told if len(names) > 1 else names), *more]
    return text == (f"{', '.join(others)} {conjunction} {last}" if others else last)


def joined(features: Sequence[str], sign: str = " × ") -> str:
    return sign.join(f"“{clean(n)}”" if sign in f" {clean(n)} " else clean(n) for n in features)


def with_value(name: str) -> str:
    """Return how a name stands before its value: one with a comparison in quotation marks."""
    return f"“{clean(name)}” = " if set(name) & set("=<>≤≥≠") else f"{clean(name)} = "


def leaders(values: Array, errors: Array) -> list[int]:
    """Return the places of the largest number, and of all within two standard errors of it."""
    finite = np.where(np.isfinite(values), values, -np.inf)
    first = int(np.argmax(finite))
    if finite[first] <= _ERRORS * errors[first]:
        return []
    near = finite >= finite[first] - _ERRORS * np.hypot(errors, errors[first])
    text = f"{finite[first]:.3g}"
    is_alike = np.array([is_written(text, v, values[np.isfinite(values)]) for v in finite])
    return [k for k in np.argsort(-finite, kind="stable").tolist() if near[k] or is_alike[k]]


def claim(names: str, numbers: tuple[str, str], texts: list[str], values: Array, errors: Array, *,
           conjunction: str = "and") -> bool:  # fmt: skip
    """Tell whether names lead, and whether two numbers are the smallest and largest of theirs."""
    leading = leaders(values, errors)
    if not leading:
        return False
    ends = zip(numbers, (values[leading[-1]], values[leading[0]]), strict=True)
    are_written = all(is_written(text, value, values[np.isfinite(values)]) for text, value in ends)
    return are_written and named([texts[k] for k in leading], names, conjunction)


def for_output(found: Match, outputs: Sequence[str]) -> list[int]:
    """Return the columns of the output that is named; all where none is."""
    name = found.groupdict().get("output")
    return [k for k, own in enumerate(outputs) if name is None or clean(own) == name]
