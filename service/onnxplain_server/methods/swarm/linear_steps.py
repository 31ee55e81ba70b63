"""Every weight at which a prediction changes, of a model whose scores are lines in the weight.

A row's class is that of the highest of its lines: their upper envelope. Where two lines cross is
computed from the slopes, then brought to the last bit by asking the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.swarm.bisection import first_where
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.perturbation import Move
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.steps import Steps

_NEAR = 1e-3
"""How far, relative to itself, a crossing is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearStepReader:
    """What reads a cohort's steps from a linear model.

    Attributes
    ----------
    scores : MovedRowPredictor
        Gives the scores, which are affine in the features.
    predictor : MovedRowPredictor
        Gives the model's answer, by which labels are told.
    columns : tuple of (n_rows,)
        All rows, in the model's types.
    kind : float32 or float64
        The numbers that weights can be.
    limit : float
        Largest weight.
    """

    scores: MovedRowPredictor
    predictor: MovedRowPredictor
    columns: tuple[Array, ...]
    kind: npt.DTypeLike
    limit: float

    def steps(self, cohort: Cohort, features: Sequence[int], moves: Sequence[Move]) -> list[Steps]:
        """Find the steps of several features; moves are of the cohort's rows."""
        pairs = zip(features, moves, strict=True)
        return [self._of_feature(cohort, feature, move) for feature, move in pairs]

    def _of_feature(self, cohort: Cohort, feature: int, move: Move) -> Steps:
        starts, ends = (
            self.scores.predict(cohort.rows, feature, move.at(w)) for w in (0.0, self.limit)
        )
        rows, near, _ = envelope(starts, (ends - starts) / self.limit, self.limit)
        first = np.arange(len(cohort))
        at_zero = self._labels(cohort, feature, move, first, np.zeros(len(cohort)))
        steps = Steps(first, np.zeros(len(first)), np.full(len(first), -1), at_zero, np.zeros(0))
        for crossing in range(int(np.bincount(rows).max(initial=0))):
            chosen = _nth(rows, crossing)
            steps = self._extended(cohort, feature, move, steps, rows[chosen], near[chosen])
        return replace(steps, loss=np.zeros(len(steps)))

    def _extended(  # noqa: PLR0917 - all that it takes
        self, cohort: Cohort, feature: int, move: Move, steps: Steps, rows: Indices, near: Vector
    ) -> Steps:
        """Add the next step of some rows, which begins near a weight."""
        last = np.zeros(len(cohort), dtype=np.intp)
        last[steps.row] = np.arange(len(steps))  # later steps of a row come later
        current = last[rows]
        own = steps.label[current]

        def changed(weights: Array, chosen: Array | slice = slice(None)) -> Array:
            labels = self._labels(cohort, feature, move, rows[chosen], weights)
            different: Array = labels != own[chosen]
            return different

        low = np.maximum(near * (1 - _NEAR), steps.begin[current]).astype(self.kind)
        high = np.minimum(near * (1 + _NEAR), self.limit).astype(self.kind)
        late, soon = ~changed(high), changed(low)
        low = np.where(soon, steps.begin[current], low).astype(self.kind)
        high = np.where(late, self.limit, high).astype(self.kind)
        begin = first_where(changed, low, high, self.kind)
        label = self._labels(cohort, feature, move, rows, begin)
        kept = label != own
        return Steps(
            np.append(steps.row, rows[kept]),
            np.append(steps.begin, begin[kept]),
            np.append(steps.previous, current[kept]),
            np.append(steps.label, label[kept]),
            steps.loss,
        )

    def _labels(
        self, cohort: Cohort, feature: int, move: Move, rows: Indices, weights: Array
    ) -> Indices:
        values = move.take(rows).at(weights)
        return cohort.truth.labels(self.predictor.predict(cohort.rows[rows], feature, values))


def envelope(starts: Matrix, slopes: Matrix, limit: float) -> tuple[Indices, Vector, Indices]:
    """Follow the highest of several lines from weight 0 on.

    Parameters
    ----------
    starts, slopes : (n, n_lines)
        Height at weight 0, and rise.
    limit : float
        Largest weight.

    Returns
    -------
    row : (n_crossings,)
    weight : (n_crossings,)
        Where another line becomes the highest; ascending within a row.
    line : (n_crossings,)
        Which one.
    """
    alive = np.arange(len(starts))
    # The highest at 0; among equals the one that rises most.
    current = np.lexsort((slopes, starts), axis=1)[:, -1]
    at = np.zeros(len(starts))
    found: list[tuple[Indices, Vector, Indices]] = []
    for _ in range(starts.shape[1] - 1):
        own = current[:, None]
        rise = slopes[alive] - np.take_along_axis(slopes[alive], own, axis=1)
        gap = np.take_along_axis(starts[alive], own, axis=1) - starts[alive]
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = np.where(rise > 0, np.maximum(gap / rise, at[:, None]), np.inf)
        at, current = meets.min(axis=1), np.argmin(meets, axis=1)
        kept = at <= limit
        alive, at, current = alive[kept], at[kept], current[kept]
        found.append((alive, at, current))
    rows, weights, lines = (
        np.concatenate([np.empty(0, dtype=kind), *(part[i] for part in found)])
        for i, kind in enumerate((np.intp, np.float64, np.intp))
    )
    order = np.lexsort((weights, rows))
    return rows[order], weights[order], lines[order]


def _nth(rows: Indices, number: int) -> Indices:
    """Places of the entries that are the n-th of their row; rows ascend."""
    starts = np.searchsorted(rows, rows)
    chosen: Indices = np.flatnonzero(np.arange(len(rows)) - starts == number)
    return chosen
