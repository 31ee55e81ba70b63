"""Accumulation: differences along steps averaged, added up and centred; also under replicates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.weighted_mean import center
from onnxplain_server.methods.accumulated_local_effects.result import AccumulatedLocalEffect
from onnxplain_server.methods.accumulated_local_effects.steps import LocalSteps
from onnxplain_server.methods.resampling import (
    Conclusion,
    Deviations,
    ReplicatedStatistic,
    Resampling,
    RowUnits,
    bootstrap,
    slope_weights,
    slopes,
)

_MAX_REPLICATE_WEIGHTS = 1 << 20
"""Weights of the replicates that are in memory at once."""


class Differences(Protocol):
    """Differences of predictions along the steps of rows, or over their cells."""

    def step_weights(self, weights: Vector) -> Vector:
        """Sum the weights of the rows that tell of each step: (n_steps,)."""

    def point_weights(self, weights: Vector) -> Vector:
        """Share the weight of each row between the points around it: (n_points,)."""

    def means(self, weights: Vector) -> Matrix:
        """Average the differences of each step: (n_steps, n_outputs); NaN without a weight."""

    def filled(self, means: Matrix) -> Matrix:
        """Give steps without rows a mean."""

    def accumulate(self, means: Matrix, weights: Vector) -> Matrix:
        """Add up the means of steps, and centre them over the rows: (n_points, n_outputs)."""


@dataclass(frozen=True, slots=True, eq=False)
class LocalDifferences:
    """Differences of predictions along the steps of rows.

    Attributes
    ----------
    steps : LocalSteps
    values : (n_moved, n_outputs)
        Differences of the rows that `steps` moves.
    """

    steps: LocalSteps
    values: Matrix

    def step_weights(self, weights: Vector) -> Vector:
        """Sum the weights of the rows that tell of each step: (n_steps,)."""
        rows, bins = self.steps.moved()
        return np.bincount(bins, weights[rows], self.steps.count).astype(np.float64)

    def point_weights(self, weights: Vector) -> Vector:
        return self.steps.point_weights(weights)

    def means(self, weights: Vector) -> Matrix:
        """Average the differences of each step: (n_steps, n_outputs); NaN without a weight."""
        rows, bins = self.steps.moved()
        count, own, totals = self.steps.count, weights[rows], self.step_weights(weights)
        sums = np.array([np.bincount(bins, own * column, count) for column in self.values.T]).T
        means: Matrix = np.full(sums.shape, np.nan)
        np.divide(sums, totals[:, None], out=means, where=totals[:, None] > 0)
        return means

    def accumulate(self, means: Matrix, weights: Vector) -> Matrix:
        """Add up the means of steps, and centre them over the rows: (n_points, n_outputs)."""
        values = np.vstack([np.zeros((1, means.shape[1])), np.cumsum(means, axis=0)])
        centered: Matrix = center(values, self.steps.point_weights(weights))
        return centered

    def filled(self, means: Matrix) -> Matrix:
        """Return the means: each step has a row."""
        return means


class AccumulatedReplicates(NamedTuple):
    """A curve with what replicates tell of it."""

    curve: AccumulatedLocalEffect
    conclusions: tuple[Conclusion, ...] = ()
    kept: tuple[ReplicatedStatistic, ...] = ()


def with_intervals(  # noqa: PLR0917 - all that replicates depend on
    differences: Differences,
    curve: AccumulatedLocalEffect,
    weights: Vector,
    units: RowUnits,
    resampling: Resampling,
    seed: int,
    output_names: tuple[str, ...],
) -> AccumulatedReplicates:
    """Add standard errors, intervals and simultaneous bands, and tell which slopes are stable.

    A replicate without any row of a step takes the mean of all rows there.

    Parameters
    ----------
    weights : (n,)
        Weights of the rows that have a value.
    units : RowUnits
        Of these rows.
    """
    found = list(_replicated(differences, weights, units, resampling, seed))
    replicates, deviations = np.array(found).reshape(-1, *curve.values.shape), Deviations()
    scale = np.abs([curve.mean_predictions, *curve.values]).max(axis=0)
    deviations.add(replicates - replicates.mean(axis=0), scale)
    band = deviations.band(
        curve.values, resampling.confidence_level, units.effective_count(weights)
    )
    subject = curve.features, curve.group, curve.grid
    numbers = curve.values, replicates, units.effective_count(weights)
    return AccumulatedReplicates(
        replace(curve, band=band),
        _slopes(differences, curve, weights, replicates, output_names, scale),
        (ReplicatedStatistic("ACCUMULATED_LOCAL_EFFECT", *subject, *numbers),) * resampling.is_kept,
    )


def _replicated(
    differences: Differences, weights: Vector, units: RowUnits, resampling: Resampling, seed: int
) -> Iterator[Matrix]:
    """Yield the curve under each replicate of the rows: (n_points, n_outputs)."""
    usual, count = differences.filled(differences.means(weights)), resampling.repeat_count
    size = max(1, _MAX_REPLICATE_WEIGHTS // len(weights))
    for start in range(0, count, size):
        repeats = range(start, min(start + size, count))
        for replica in bootstrap(weights, units, seed, repeats):
            own = differences.means(replica)
            yield differences.accumulate(np.where(np.isnan(own), usual, own), replica)


def _slopes(  # noqa: PLR0917 - a curve, and its replicates
    differences: Differences,
    curve: AccumulatedLocalEffect,
    weights: Vector,
    replicates: Array,
    output_names: tuple[str, ...],
    magnitude: Vector,
) -> tuple[Conclusion, ...]:
    """Tell whether a curve rises or falls on the whole, and in how many replicates."""
    if len(curve.features) > 1:
        return ()
    along = slope_weights(curve.grid[0], differences.point_weights(weights))
    if along is None:
        return ()
    found = np.einsum("p,rpk->rk", along, replicates)
    of = curve.features, curve.group, output_names
    return tuple(slopes(*of, along @ curve.values, found, magnitude))
