"""Steps of linear models: all weights at which a predicted class changes.

A row's scores are lines in the weight, and its class is that of their upper envelope. Crossings
are computed from the slopes, then refined to the last bit by predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.swarm.bisection import first_where
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.perturbation import JointMove
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.steps import Steps

_NEAR = 1e-3
"""Relative width of the interval around a crossing that is bisected first."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearStepReader:
    """Step reader of a linear model.

    Attributes
    ----------
    scores : MovedRowPredictor
        Predicts the scores, which are affine in the features.
    predictor : MovedRowPredictor
        Predicts the model's outputs, which decide the labels.
    columns : tuple of (n_rows,)
        All rows, in the model's types.
    kind : float32 or float64
        Type of weights.
    limit : float
        Largest weight.
    """

    scores: MovedRowPredictor
    predictor: MovedRowPredictor
    columns: tuple[Array, ...]
    kind: npt.DTypeLike
    limit: float

    def steps(self, cohort: Cohort, moves: Sequence[JointMove]) -> list[Steps]:
        """Return the steps of each feature or group."""
        return [self._of_move(cohort, move) for move in moves]

    def _of_move(self, cohort: Cohort, move: JointMove) -> Steps:
        starts, ends = (self.scores.predict(cohort.rows, move.at(w)) for w in (0.0, self.limit))
        rows, near, _ = envelope(starts, (ends - starts) / self.limit, self.limit)
        first = np.arange(len(cohort))
        at_zero = self._labels(cohort, move, first, np.zeros(len(cohort)))
        steps = Steps(first, np.zeros(len(first)), np.full(len(first), -1), at_zero, np.zeros(0))
        for crossing in range(int(np.bincount(rows).max(initial=0))):
            chosen = _nth(rows, crossing)
            steps = self._extended(cohort, move, steps, rows[chosen], near[chosen])
        return replace(steps, loss=np.zeros(len(steps)))

    def _extended(
        self, cohort: Cohort, move: JointMove, steps: Steps, rows: Indices, near: Vector
    ) -> Steps:
        """Append the next step of some rows, which begins near a weight."""
        last = np.zeros(len(cohort), dtype=np.intp)
        last[steps.row] = np.arange(len(steps))  # steps of a row ascend
        current = last[rows]
        own = steps.label[current]

        def changed(weights: Array, chosen: Array | slice = slice(None)) -> Array:
            labels = self._labels(cohort, move, rows[chosen], weights)
            different: Array = labels != own[chosen]
            return different

        low = np.maximum(near * (1 - _NEAR), steps.begin[current]).astype(self.kind)
        high = np.minimum(near * (1 + _NEAR), self.limit).astype(self.kind)
        is_later, is_earlier = ~changed(high), changed(low)
        low = np.where(is_earlier, steps.begin[current], low).astype(self.kind)
        high = np.where(is_later, self.limit, high).astype(self.kind)
        begin = first_where(changed, low, high, self.kind)
        label = self._labels(cohort, move, rows, begin)
        differs = label != own
        return Steps(
            np.append(steps.row, rows[differs]),
            np.append(steps.begin, begin[differs]),
            np.append(steps.previous, current[differs]),
            np.append(steps.label, label[differs]),
            steps.loss,
        )

    def _labels(self, cohort: Cohort, move: JointMove, rows: Indices, weights: Array) -> Indices:
        values = move.take(rows).at(weights)
        return cohort.truth.labels(self.predictor.predict(cohort.rows[rows], values))


def envelope(starts: Matrix, slopes: Matrix, limit: float) -> tuple[Indices, Vector, Indices]:
    """Compute the upper envelope of lines from weight 0 on.

    Parameters
    ----------
    starts, slopes : (n, n_lines)
        Values at weight 0, and slopes.
    limit : float
        Largest weight.

    Returns
    -------
    row : (n_crossings,)
    weight : (n_crossings,)
        Weights at which another line becomes the highest; ascending within a row.
    line : (n_crossings,)
        The new highest line.
    """
    alive = np.arange(len(starts))
    # The highest line at 0; among equals, the steepest.
    current = np.lexsort((slopes, starts), axis=1)[:, -1]
    at = np.zeros(len(starts))
    crossings: list[tuple[Indices, Vector, Indices]] = []
    for _ in range(starts.shape[1] - 1):
        own = current[:, None]
        rise = slopes[alive] - np.take_along_axis(slopes[alive], own, axis=1)
        gap = np.take_along_axis(starts[alive], own, axis=1) - starts[alive]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing_at = np.where(rise > 0, np.maximum(gap / rise, at[:, None]), np.inf)
        at, current = crossing_at.min(axis=1), np.argmin(crossing_at, axis=1)
        is_within = at <= limit
        alive, at, current = alive[is_within], at[is_within], current[is_within]
        crossings.append((alive, at, current))
    rows, weights, lines = (
        np.concatenate([np.empty(0, dtype=kind), *(part[i] for part in crossings)])
        for i, kind in enumerate((np.intp, np.float64, np.intp))
    )
    order = np.lexsort((weights, rows))
    return rows[order], weights[order], lines[order]


def _nth(rows: Indices, number: int) -> Indices:
    """Return the positions of the n-th entry of each row; rows ascend."""
    starts = np.searchsorted(rows, rows)
    chosen: Indices = np.flatnonzero(np.arange(len(rows)) - starts == number)
    return chosen
