"""Knots of a feature, and its values as mixtures of the two knots around each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.background import distinct


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Values between knots: linear interpolation, as positions and shares.

    Attributes
    ----------
    lower, upper : (n_rows,)
        Positions of the knots around each value; the same where it is a knot.
    share : (n_rows,)
        By how much it is the upper one; in [0, 1).
    """

    lower: Indices
    upper: Indices
    share: Vector

    def interpolate(self, points: Array) -> Array:
        """From the knots to the values: (..., n_knots, n_outputs) to (..., n_rows, n_outputs)."""
        share = self.share[:, None]
        mixed: Array = (1 - share) * points[..., self.lower, :] + share * points[..., self.upper, :]
        return mixed

    def gather(self, shares: Array, n_knots: int) -> Array:
        """Shares of the values to those of the knots: (..., n_rows) to (..., n_knots)."""
        places = np.append(self.lower, self.upper)
        parts = np.concatenate([shares * (1 - self.share), shares * self.share], axis=-1)
        flat = [np.bincount(places, part, n_knots) for part in np.atleast_2d(parts)]
        return np.stack(flat).reshape(*shares.shape[:-1], n_knots)


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Where a feature is evaluated.

    Attributes
    ----------
    points : (n_knots,)
        In the model's type: values of the rows.
    fine : Mixture
        The rows' values, of all knots.
    coarse : Mixture
        Of every second one: what interpolation with twice the distance gives.
    is_exact : bool
        Whether the knots are all values that the rows have.
    """

    points: Array
    fine: Mixture
    coarse: Mixture
    is_exact: bool


def choose_knots(column: Array, count: int) -> Knots:
    """Lay knots where a column has more than `count` distinct values: on values of the rows.

    They are in equal steps of rank and of value taken together, so that neither a crowd of rows
    nor a tail is left with few: at quantiles alone, most of the error is in the tails, and goes
    unnoticed there.

    Parameters
    ----------
    column : (n_rows,)
        In the model's type. Text, and columns with fewer values, are evaluated at every value;
        so are missing and infinite ones.
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
    apart, places = distinct(column[~finite])
    fine, coarse = (
        _mixture(values, finite, places + len(knots), knots, chosen)
        for chosen in (np.arange(len(knots)), _every_second(len(knots)))
    )
    return Knots(np.append(knots.astype(column.dtype), apart), fine, coarse, is_exact=False)


def _exact(levels: Array, codes: Indices) -> Knots:
    mixture = Mixture(codes, codes, np.zeros(len(codes)))
    return Knots(levels, mixture, mixture, is_exact=True)


def _spread(values: Vector, count: int) -> Vector:
    """Choose from ascending values, in equal steps: (n_values,) to at most (count,)."""
    scaled = values / np.abs(values).max()
    steps = np.linspace(0, 1, len(values)) + (scaled - scaled[0]) / (scaled[-1] - scaled[0])
    chosen = np.searchsorted(steps, np.linspace(0, steps[-1], count))
    return np.unique(values[chosen])


def _every_second(count: int) -> Indices:
    return np.unique(np.append(np.arange(0, count, 2), count - 1))


def _mixture(
    values: Vector, finite: Array, places: Indices, knots: Vector, chosen: Indices
) -> Mixture:
    """Mix finite values of the chosen knots; the others have places of their own."""
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
    """Mix several features: at each row, every choice of a knot for each feature.

    Returns
    -------
    places : one (n_rows, n_corners) array per feature
    shares : (n_rows, n_corners)
        Each row adds up to 1.
    """
    sides = [((m.lower, 1 - m.share), (m.upper, m.share)) for m in mixtures]
    chosen = list(product(*sides))
    places = [np.stack([c[i][0] for c in chosen], axis=1) for i in range(len(mixtures))]
    shares = np.stack([np.prod([s for _, s in c], axis=0) for c in chosen], axis=1)
    return places, shares
