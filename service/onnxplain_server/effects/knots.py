"""Interpolation knots of a feature, and its values as mixtures of the two knots around each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.background import distinct


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Linear interpolation of values between knots, as positions and shares.

    Attributes
    ----------
    lower, upper : (n_rows,)
        Positions of the knots around each value; equal where the value is a knot.
    share : (n_rows,)
        Weight of the upper knot; in [0, 1).
    """

    lower: Indices
    upper: Indices
    share: Vector

    def interpolate(self, points: Array) -> Array:
        """Interpolate at the values: (..., n_knots, n_outputs) to (..., n_rows, n_outputs)."""
        share = self.share[:, None]
        mixed: Array = (1 - share) * points[..., self.lower, :] + share * points[..., self.upper, :]
        return mixed

    def gather(self, shares: Array, n_knots: int) -> Array:
        """Turn shares of the values into shares of the knots: (..., n_rows) to (..., n_knots)."""
        places = np.append(self.lower, self.upper)
        parts = np.concatenate([shares * (1 - self.share), shares * self.share], axis=-1)
        flat = [np.bincount(places, part, n_knots) for part in np.atleast_2d(parts)]
        return np.stack(flat).reshape(*shares.shape[:-1], n_knots)


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Evaluation points of a feature, and the interpolation between them.

    Attributes
    ----------
    points : (n_knots,)
        Values of the rows, in the model's type.
    fine : Mixture
        The rows' values as mixtures of all knots.
    coarse : Mixture
        The same of every second knot.
    is_exact : bool
        Whether the knots are all values of the rows.
    """

    points: Array
    fine: Mixture
    coarse: Mixture
    is_exact: bool


def choose_knots(column: Array, count: int) -> Knots:
    """Choose knots among the values of a column with more than `count` distinct ones.

    They are equally spaced in the sum of scaled rank and value, so that dense regions and tails
    both have knots: with quantiles alone most of the error is in the tails, unnoticed.

    Parameters
    ----------
    column : (n_rows,)
        In the model's type. All values are knots for text and for columns with at most `count`;
        missing and infinite values always are.
    count : int
        At least 3.
    """
    levels, codes = distinct(column)
    if column.dtype == object or len(levels) <= count:
        return _exact(levels, codes)
    values = column.astype(np.float64)
    finite = np.isfinite(values)
    if len(np.unique(values[finite])) < 2:
        return _exact(levels, codes)
    knots = _spread(np.sort(values[finite]), count)
    special, places = distinct(column[~finite])
    fine, coarse = (
        _mixture(values, finite, places + len(knots), knots, chosen)
        for chosen in (np.arange(len(knots)), _every_second(len(knots)))
    )
    return Knots(np.append(knots.astype(column.dtype), special), fine, coarse, is_exact=False)


def _exact(levels: Array, codes: Indices) -> Knots:
    mixture = Mixture(codes, codes, np.zeros(len(codes)))
    return Knots(levels, mixture, mixture, is_exact=True)


def _spread(values: Vector, count: int) -> Vector:
    """Choose from ascending values, equally spaced: (n_values,) to at most (count,)."""
    scaled = values / np.abs(values).max()
    steps = np.linspace(0, 1, len(values)) + (scaled - scaled[0]) / (scaled[-1] - scaled[0])
    chosen = np.searchsorted(steps, np.linspace(0, steps[-1], count))
    return np.unique(values[chosen])


def _every_second(count: int) -> Indices:
    return np.unique(np.append(np.arange(0, count, 2), count - 1))


def _mixture(
    values: Vector, finite: Array, places: Indices, knots: Vector, chosen: Indices
) -> Mixture:
    """Express finite values as mixtures of chosen knots; the others are knots at `places`."""
    lower, share = np.empty(len(values), dtype=np.intp), np.zeros(len(values))
    upper = lower.copy()
    edges = knots[chosen]
    left = np.searchsorted(edges, values[finite], side="right") - 1
    right = np.minimum(left + 1, len(edges) - 1)
    width = np.where(right > left, edges[right] - edges[left], 1)
    share[finite] = (values[finite] - edges[left]) / width
    lower[finite] = chosen[left]
    upper[finite] = np.where(share[finite] > 0, chosen[right], chosen[left])
    lower[~finite] = upper[~finite] = places
    return Mixture(lower, upper, share)


def corners(mixtures: Sequence[Mixture]) -> tuple[list[Indices], Matrix]:
    """Combine the mixtures of several features: at each row, every corner of its cell.

    Returns
    -------
    places : one (n_rows, n_corners) array per feature
    shares : (n_rows, n_corners)
        Each row sums to 1.
    """
    sides = [((m.lower, 1 - m.share), (m.upper, m.share)) for m in mixtures]
    chosen = list(product(*sides))
    places = [np.stack([c[i][0] for c in chosen], axis=1) for i in range(len(mixtures))]
    shares = np.stack([np.prod([s for _, s in c], axis=0) for c in chosen], axis=1)
    return places, shares
