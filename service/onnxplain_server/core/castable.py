"""Values of a column: whether they can be cast to the type of a model's input, or are dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.row_places import row_places

_DATES_ADVICE = "; send dates as the numbers that the model was trained on, such as year and month"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)
_LONGEST_TEXT = 40
_LOOKED_AT = 100
_EXACT = 2.0**53  # largest integer up to which float64 holds all integers


Places = Callable[[Indices], Indices]
"""Rows of a table as sent, by their positions in a column."""


def check_castable(
    values: Array,
    dtype: np.dtype[np.generic],
    name: str,
    path: str,
    as_sent: Places | None = None,
) -> None:
    """Check that casting the values of column `name`, (n,), to `dtype` would not change them.

    float64 may be rounded to shorter floats. Raises WRONG_TYPE; `path` is the field of the request
    with the values, and `as_sent` tells their rows where they are a table's.
    """
    if (values.dtype == object) != (dtype == np.dtype(object)):
        actual, expected = (
            ("text", f"{dtype} numbers") if values.dtype == object else ("numbers", "text")
        )
        advice = _advice(values, as_sent) if values.dtype == object else ""
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {actual}, but the model takes {expected} there{advice}",
            path,
        )
    if dtype == np.dtype(object):
        return
    if dtype.kind != "f":
        _check_whole(values, dtype, name, path, as_sent)
    elif dtype.itemsize < values.dtype.itemsize:
        _check_range(values, dtype, name, path, as_sent)


def check_kind(name: str, values: Array, column: Array, path: str) -> None:
    """Refuse text for a column of numbers, and numbers for one of text; WRONG_TYPE."""
    if (values.dtype == object) == (column.dtype == object):
        return
    own, given = ("text", "numbers") if column.dtype == object else ("numbers", "text")
    field = path.rpartition(".")[2]
    message = f"column {name!r} holds {own}, and {field} has {given} there"
    raise ExplainError(Reason.WRONG_TYPE, message, path)


def _advice(texts: Array, as_sent: Places | None) -> str:
    """Tell which texts keep a column from being numbers, and where they are."""
    if are_dates(texts):
        return _DATES_ADVICE
    wrong = np.flatnonzero([not _is_number(text) for text in texts])
    if not len(wrong):
        return ": its numbers are given as text; give them as numbers"
    first, kinds = _quoted(texts[wrong[0]]), len(set(texts[wrong]))
    others = f" and {kinds - 1:,} other text{'s' * (kinds > 2)}" if kinds > 1 else ""
    where = "" if as_sent is None else f" in {row_places(as_sent(wrong).tolist())}"
    if len(wrong) > len(texts) / 2:
        return f": {first}{others}{where}"
    return (
        f": {first}{others}{where}, and numbers elsewhere; mend these values, or leave them empty"
    )


def _is_number(text: str) -> bool:
    return not text or _NUMBER.fullmatch(text.strip()) is not None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…")


def _where(values: Array, wrong: Array, as_sent: Places | None) -> str:
    """Tell that other values are wrong too, and the rows of all of them."""
    others = " and others" if len(np.unique(values[wrong])) > 1 else ""
    if as_sent is None:
        return others
    return f"{others} in {row_places(as_sent(np.flatnonzero(wrong)).tolist())}"


def _check_range(
    values: Array, dtype: np.dtype[np.generic], name: str, path: str, as_sent: Places | None
) -> None:
    largest = float(np.finfo(dtype).max)  # type: ignore[type-var]  # known to be a float type here
    if not len(values) or (-largest <= values.min() and values.max() <= largest):
        return
    with np.errstate(over="ignore"):
        overflow = np.isfinite(values) & ~np.isfinite(values.astype(dtype))
    if overflow.any():
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {values[overflow][0]:g}{_where(values, overflow, as_sent)}, "
            f"too large for the {dtype} numbers that the model takes",
            path,
        )


def _check_whole(
    values: Array, dtype: np.dtype[np.generic], name: str, path: str, as_sent: Places | None
) -> None:
    """Refuse values that an integer type or bool would change."""
    low, high = (0.0, 1.0) if dtype.kind == "b" else _limits(dtype)
    wrong = ~((values >= low) & (values <= high) & (values == np.floor(values)))
    if wrong.any():
        value = values[wrong][0]
        shown = "a missing value" if np.isnan(value) else f"{value:g}"
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {shown}{_where(values, wrong, as_sent)}, but the model takes "
            f"{dtype} there",
            path,
        )


def _limits(dtype: np.dtype[np.generic]) -> tuple[float, float]:
    info = np.iinfo(dtype)  # type: ignore[type-var]  # known to be an integer type here
    return max(float(info.min), -_EXACT), min(float(info.max), _EXACT)


def are_dates(texts: Array | Sequence[str]) -> bool:
    """Return whether the first texts, missing ones aside, begin like dates."""
    present = [text for text in texts[:_LOOKED_AT] if text]
    return bool(present) and all(_DATE.match(text) for text in present)
