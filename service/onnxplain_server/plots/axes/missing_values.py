"""Missing values of grids: which they are, and how they are called."""

from __future__ import annotations

import math
from typing import Any

from onnxplain_server.core.arrays import Array

MISSING = "missing"


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or empty text."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def key(value: Any) -> Any:
    """Map all missing values to None, so that they are equal."""
    return None if is_missing(value) else value


def distinct(grid: Array) -> list[Any]:
    """Return the distinct values in order; None, for missing ones, comes last."""
    keys = {key(value) for value in grid.tolist()}
    return [*sorted(keys - {None}), *([None] if None in keys else [])]
