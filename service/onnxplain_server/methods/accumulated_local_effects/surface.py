"""Accumulation over two features: what they do together beyond the effects of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.weighted_mean import center
from onnxplain_server.methods.accumulated_local_effects.steps import LocalSteps


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceDifferences:
    """Second differences of predictions over the cells of rows.

    A cell is a step of each feature; cells and points are numbered with the first feature varying
    fastest.

    Attributes
    ----------
    first, second : LocalSteps
    values : (n, n_outputs)
        Differences between both ends of the first feature's step, at the upper end of the second
        one's less those at its lower end.
    """

    first: LocalSteps
    second: LocalSteps
    values: Matrix

    @property
    def _cells(self) -> Indices:
        return self.first.bins + self.first.count * self.second.bins

    @property
    def _count(self) -> int:
        return self.first.count * self.second.count

    def step_weights(self, weights: Vector) -> Vector:
        """Sum the weights of the rows of each cell: (n_cells,)."""
        if not self._count:
            return np.zeros(0)
        return np.bincount(self._cells, weights, self._count).astype(np.float64)

    def means(self, weights: Vector) -> Matrix:
        """Average the differences of each cell: (n_cells, n_outputs); NaN without a weight."""
        totals = self.step_weights(weights)
        means: Matrix = np.full((len(totals), self.values.shape[1]), np.nan)
        if not self._count:
            return means
        columns = [np.bincount(self._cells, weights * own, len(totals)) for own in self.values.T]
        np.divide(np.array(columns).T, totals[:, None], out=means, where=totals[:, None] > 0)
        return means

    def filled(self, means: Matrix) -> Matrix:
        """Give cells without rows the mean of the nearest cell, by steps; of several the first."""
        places = np.arange(len(means))
        at = np.stack([places % self.first.count, places // self.first.count], axis=1)
        held = np.flatnonzero(~np.isnan(means[:, 0]))
        filled = means.copy()
        for empty in np.flatnonzero(np.isnan(means[:, 0])):
            distances = ((at[held] - at[empty]) ** 2).sum(axis=1)
            filled[empty] = means[held[np.argmin(distances)]]
        return filled

    def point_weights(self, weights: Vector) -> Vector:
        """Share the weight of each row between the four points around it: (n_points,)."""
        count = len(self.first.points)
        total = np.zeros(count * len(self.second.points))
        for i, near in enumerate((1 - self.first.shares, self.first.shares)):
            for j, beside in enumerate((1 - self.second.shares, self.second.shares)):
                upper = np.minimum(self.second.bins + j, self.second.count)
                points = np.minimum(self.first.bins + i, self.first.count) + count * upper
                total += np.bincount(points, weights * near * beside, len(total))
        return total

    def accumulate(self, means: Matrix, weights: Vector) -> Matrix:
        """Add cells up, subtract the effects of each feature, and centre: (n_points, n_outputs)."""
        if not self._count:
            return np.zeros((len(self.first.points) * len(self.second.points), means.shape[1]))
        shape = self.second.count, self.first.count, means.shape[1]
        sums = np.zeros((shape[0] + 1, shape[1] + 1, shape[2]))
        sums[1:, 1:] = means.reshape(shape).cumsum(axis=0).cumsum(axis=1)
        along_first = _own_effect(sums, self.first, self.second, weights)
        along_second = _own_effect(sums.swapaxes(0, 1), self.second, self.first, weights)
        pure = sums - along_first - along_second[:, None]
        flat = np.ascontiguousarray(pure).reshape(-1, shape[2])
        centered: Matrix = center(flat, self.point_weights(weights))
        return centered


def _own_effect(sums: Array, moved: LocalSteps, other: LocalSteps, weights: Vector) -> Matrix:
    """Accumulate a surface along one feature, at the rows' own places along the other.

    Parameters
    ----------
    sums : (n_other_points, n_moved_points, n_outputs)

    Returns
    -------
    (n_moved_points, n_outputs)
    """
    rises = np.diff(sums, axis=1)
    share = other.shares[:, None]
    at_rows = (1 - share) * rises[other.bins, moved.bins]
    at_rows += share * rises[other.bins + 1, moved.bins]
    totals = np.bincount(moved.bins, weights, moved.count)
    columns = [np.bincount(moved.bins, weights * own, moved.count) for own in at_rows.T]
    means = np.array(columns).T / np.where(totals > 0, totals, 1)[:, None]
    return np.vstack([np.zeros((1, sums.shape[2])), np.cumsum(means, axis=0)])
