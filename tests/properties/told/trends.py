"""Trends of curves: whether they rise where rows are, but for a small part of their way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnxplain_server.core.arrays import Array

_AGAINST = 0.1


def is_along(curve: Any, own: Array, told: Array, *, most: float = _AGAINST) -> bool:
    """Tell whether a curve over numbers rises but for a small part of its way."""
    numbers = np.array(curve.grid[0].numbers)
    if not numbers.size or len(curve.grid) > 1:
        return False
    places = np.flatnonzero(told & np.isfinite(numbers))
    if len(places) < 2:
        return False
    steps = own[places][np.argsort(numbers[places], kind="stable")]
    is_more_than_rounding = np.ptp(steps) > 1e-6 * np.abs(steps).max()
    return bool(is_more_than_rounding and _against(steps) <= most * np.ptp(steps))


def _against(steps: Array) -> float:
    """Return the longest way down of a curve."""
    highest, longest = -math.inf, 0.0
    for value in steps:
        highest = max(highest, value)
        longest = max(longest, highest - value)
    return longest


def has_rows(curve: Any, count: int) -> Array:
    weights = np.array(curve.row_weights)
    if not weights.size or not 0 < weights.max() < math.inf:
        return np.ones(count, bool)
    enough: Array = weights / weights.sum() >= min(0.01, 0.1 / count)
    return enough if enough.sum() > 1 else np.ones(count, bool)
