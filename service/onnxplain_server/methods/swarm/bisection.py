"""Bisection over floating-point weights: the least weight with a property, to the last bit.

Floats from 0 on are ordered like their bit patterns, so the search halves ranges of integers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.swarm.perturbation import Move

_BITS: dict[type, npt.DTypeLike] = {np.float32: np.int32, np.float64: np.int64}


def first_where(
    holds: Callable[[Array], Array], low: Array, high: Array, kind: npt.DTypeLike
) -> Vector:
    """Find, for each entry, the least weight with a monotone property: (n,).

    Parameters
    ----------
    holds : callable (n,) -> (n,)
        Property of one weight per entry; if it holds, it holds for all larger weights.
    low, high : (n,)
        Bounds of the search; `high` is returned if the property holds nowhere below.
    kind : float32 or float64
        Type of weights.
    """
    bits = _BITS[np.dtype(kind).type]
    lower, upper = (np.asarray(end, dtype=kind).view(bits).copy() for end in (low, high))
    while (lower < upper).any():
        middle = lower + (upper - lower) // 2
        is_true = holds(middle.view(kind))
        upper = np.where(is_true, middle, upper)
        lower = np.where(is_true, lower, np.minimum(middle + 1, upper))
    weights: Vector = upper.view(kind).astype(np.float64)
    return weights


def crossings(move: Move, thresholds: Vector, limit: float, kind: npt.DTypeLike) -> Vector:
    """Find the least weight at which each value passes its threshold: (n,).

    Rising values pass when they reach the threshold, falling ones when they drop below it.

    Parameters
    ----------
    move : Move
        One value per threshold.
    thresholds : (n,)
    limit : float
        Weight at which all have passed.
    """
    rising = move.slope >= 0

    def passed(weights: Array) -> Array:
        is_past: Array = (move.at(weights) >= thresholds) == rising
        return is_past

    ends = np.full(len(move), limit)
    return first_where(passed, np.zeros(len(move)), ends, kind)


def before(weights: Array, kind: npt.DTypeLike) -> Vector:
    """Return the next smaller weights: (n,); 0 is kept."""
    exact = np.asarray(weights, dtype=kind)
    smaller: Vector = np.nextafter(exact, np.array(-np.inf, dtype=kind)).astype(np.float64)
    return smaller.clip(0.0)
