"""Values of a column: whether they can be cast to the type of a model's input, or are dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason

_DATES_ADVICE = "; send dates as the numbers that the model was trained on, such as year and month"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_LOOKED_AT = 100
_EXACT = 2.0**53  # largest integer up to which float64 holds all integers


def check_castable(values: Array, dtype: np.dtype[np.generic], name: str, path: str) -> None:
    """Check that casting the values of column `name`, (n,), to `dtype` would not change them.

    float64 may be rounded to shorter floats. Raises WRONG_TYPE; `path` is the field of the request
    with the values.
    """
    if (values.dtype == object) != (dtype == np.dtype(object)):
        actual, expected = (
            ("text", f"{dtype} numbers") if values.dtype == object else ("numbers", "text")
        )
        dates = _DATES_ADVICE if values.dtype == object and are_dates(values) else ""
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {actual}, but the model takes {expected} there{dates}",
            path,
        )
    if dtype == np.dtype(object):
        return
    if dtype.kind != "f":
        _check_whole(values, dtype, name, path)
    elif dtype.itemsize < values.dtype.itemsize:
        _check_range(values, dtype, name, path)


def _check_range(values: Array, dtype: np.dtype[np.generic], name: str, path: str) -> None:
    largest = float(np.finfo(dtype).max)  # type: ignore[type-var]  # known to be a float type here
    if not len(values) or (-largest <= values.min() and values.max() <= largest):
        return
    with np.errstate(over="ignore"):
        overflow = np.isfinite(values) & ~np.isfinite(values.astype(dtype))
    if overflow.any():
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {values[overflow][0]:g}, too large for the {dtype} numbers "
            "that the model takes",
            path,
        )


def _check_whole(values: Array, dtype: np.dtype[np.generic], name: str, path: str) -> None:
    """Refuse values that an integer type or bool would change."""
    low, high = (0.0, 1.0) if dtype.kind == "b" else _limits(dtype)
    wrong = ~((values >= low) & (values <= high) & (values == np.floor(values)))
    if wrong.any():
        value = values[wrong][0]
        shown = "a missing value" if np.isnan(value) else f"{value:g}"
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds {shown}, but the model takes {dtype} there",
            path,
        )


def _limits(dtype: np.dtype[np.generic]) -> tuple[float, float]:
    info = np.iinfo(dtype)  # type: ignore[type-var]  # known to be an integer type here
    return max(float(info.min), -_EXACT), min(float(info.max), _EXACT)


def are_dates(texts: Array | Sequence[str]) -> bool:
    """Return whether the first texts, missing ones aside, begin like dates."""
    present = [text for text in texts[:_LOOKED_AT] if text]
    return bool(present) and all(_DATE.match(text) for text in present)
