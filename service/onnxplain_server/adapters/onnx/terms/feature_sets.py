"""Features that a value is computed from, as an integer: one, none, a pair, or more than two."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array

NO_FEATURE, SEVERAL = -1, -2
"""In place of a feature: the value is constant, or is computed from more than two features."""
_PAIRS, _BITS = -3, 31
"""The pair (a, b) is -3 - (a · 2³¹ + b)."""


def is_single(sets: Array) -> bool:
    """Return whether each value is computed from one feature, or none."""
    return bool((sets >= NO_FEATURE).all())


def is_at_most_pairs(sets: Array) -> bool:
    """Return whether each value is computed from two features at most."""
    return bool((sets != SEVERAL).all())


def is_pair(code: int) -> bool:
    """Return whether a value is computed from two features."""
    return code <= _PAIRS


def pair_of(code: int) -> tuple[int, int]:
    """Return the two features of a pair, ascending."""
    joined = _PAIRS - code
    return joined >> _BITS, joined & ((1 << _BITS) - 1)


def together(sets: Array, axes: tuple[int, ...], *, keeps: bool = False) -> Array:
    """Return the features of what is computed from all values along axes."""
    is_pair = sets <= _PAIRS
    joined = np.where(is_pair, _PAIRS - sets, 0)
    first = np.where(is_pair, joined >> _BITS, sets)
    second = np.where(is_pair, joined & ((1 << _BITS) - 1), sets)
    highest = np.maximum(first, second).max(axes, keepdims=True)
    most = np.iinfo(np.int64).max
    lowest = np.where(first >= 0, first, most).min(axes, keepdims=True)
    is_between = ((first > lowest) & (first < highest)) | ((second > lowest) & (second < highest))
    is_several = ((sets == SEVERAL) | is_between).any(axes, keepdims=True)
    pair = _PAIRS - ((lowest << _BITS) | np.maximum(highest, 0))
    found = np.where(highest > lowest, pair, highest)
    found = np.where(is_several, SEVERAL, found)
    result: Array = found if keeps else found.squeeze(axes)
    return result
