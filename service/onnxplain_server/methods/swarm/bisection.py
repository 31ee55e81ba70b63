"""The weight at which something first happens, to the last bit, by halving the weights there are.

Weights from 0 on are ordered like their bits, so a range of them is halved until one is left.
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
    """Find, for each entry, the least weight where something holds: (n,).

    Parameters
    ----------
    holds : callable (n,) -> (n,)
        Tells of one weight per entry; once it holds, it holds for all larger ones.
    low, high : (n,)
        From where and up to where to look; `high` is returned where it holds nowhere before.
    kind : float32 or float64
        The numbers that weights can be.
    """
    bits = _BITS[np.dtype(kind).type]
    least, most = (np.asarray(end, dtype=kind).view(bits).copy() for end in (low, high))
    while (least < most).any():
        middle = least + (most - least) // 2
        found = holds(middle.view(kind))
        most = np.where(found, middle, most)
        least = np.where(found, least, np.minimum(middle + 1, most))
    weights: Vector = most.view(kind).astype(np.float64)
    return weights


def crossings(move: Move, thresholds: Vector, limit: float, kind: npt.DTypeLike) -> Vector:
    """Find the least weight with which each value passes its threshold: (n,).

    Values that rise with the weight pass where they reach it, others where they fall below it.

    Parameters
    ----------
    move : Move
        One value per threshold.
    thresholds : (n,)
    limit : float
        With which all have passed.
    """
    rising = move.slope >= 0

    def passed(weights: Array) -> Array:
        reached: Array = (move.at(weights) >= thresholds) == rising
        return reached

    ends = np.full(len(move), limit)
    return first_where(passed, np.zeros(len(move)), ends, kind)


def before(weights: Array, kind: npt.DTypeLike) -> Vector:
    """Return the next smaller weights: (n,); 0 stays."""
    exact = np.asarray(weights, dtype=kind)
    smaller: Vector = np.nextafter(exact, np.array(-np.inf, dtype=kind)).astype(np.float64)
    return smaller.clip(0.0)
