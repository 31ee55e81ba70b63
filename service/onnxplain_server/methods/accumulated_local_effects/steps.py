"""Points of a feature, and the rows whose differences lead from each point to the next one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.methods.firm.bins import cut


@dataclass(frozen=True, slots=True, eq=False)
class LocalSteps:
    """Points of a feature over rows that have a value, and the steps between them.

    Attributes
    ----------
    points : (n_points,)
        Edges of bins, or the distinct values; each is the value of a row; ascending.
    sources : (n_points,)
        Position of a row that has the value.
    bins : (n,)
        Step that holds each row: the rows of its upper end, and of the first step both ends.
    shares : (n,)
        Place of each row within its step, from 0 to 1.
    places : (n,)
        Point that each row is at; -1 between points.
    is_by_value : bool
        Whether the points are the distinct values, so that each row is at one.
    """

    points: Array
    sources: Indices
    bins: Indices
    shares: Vector
    places: Indices
    is_by_value: bool

    @property
    def count(self) -> int:
        """Number of steps."""
        return len(self.points) - 1

    def moved(self) -> tuple[Indices, Indices]:
        """Return the rows that tell differences, and the step of each: (n_moved,) both.

        A row between points moves along its step. A row at a distinct value moves down to the
        value before and up to the next one, so that both values of a step tell of it.
        """
        rows = np.arange(len(self.bins))
        if not self.is_by_value:
            return rows, self.bins
        down, up = rows[self.places > 0], rows[self.places < self.count]
        return np.append(down, up), np.append(self.places[down] - 1, self.places[up])

    def point_weights(self, weights: Vector) -> Vector:
        """Share the weight of each row between the two points beside it: (n_points,)."""
        upper, n_points = weights * self.shares, len(self.points)
        before = np.bincount(self.bins, weights - upper, n_points)
        behind = np.bincount(np.minimum(self.bins + 1, self.count), upper, n_points)
        return np.asarray(before + behind, np.float64)


def lay_steps(values: Array, weights: Vector, bin_count: int) -> LocalSteps:
    """Lay points: the distinct values, or of more than `bin_count` numbers the edges of bins.

    Bins are those of FIRM, of about equal weight. Points are the lowest value, and the highest one
    of each bin.

    Parameters
    ----------
    values : (n,), float64 or str objects
        None of them missing.
    weights : (n,)
        All positive.
    """
    levels, sources, inverse = np.unique(values, return_index=True, return_inverse=True)
    is_by_value = values.dtype == object or len(levels) <= bin_count
    ends = np.arange(len(levels))
    if not is_by_value:
        codes = np.zeros(len(levels), np.intp)
        codes[inverse] = cut(values, weights, bin_count).codes
        ends = np.union1d(0, np.flatnonzero(np.diff(codes, append=-1)))
    steps = np.maximum(np.searchsorted(ends, np.arange(len(levels))) - 1, 0)
    place = np.full(len(levels), -1)
    place[ends] = np.arange(len(ends))
    shares = np.zeros(len(levels))
    shares[ends[1:]] = 1
    if not is_by_value:
        between = np.flatnonzero(place < 0)
        low, high = (levels[ends[steps[between] + end]] for end in (0, 1))
        shares[between] = _within(levels[between], low, high)
    return LocalSteps(
        levels[ends], sources[ends], steps[inverse], shares[inverse], place[inverse], is_by_value
    )


def _within(values: Vector, low: Vector, high: Vector) -> Vector:
    """Return places of values between others, from 0 to 1; of infinite steps the finite end."""
    with np.errstate(invalid="ignore"):
        # Halves: a difference of numbers at the ends of float64 exceeds it.
        place = (values / 2 - low / 2) / (high / 2 - low / 2)
    return np.where(np.isfinite(place), place, 1.0)
