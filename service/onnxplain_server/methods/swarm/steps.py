"""Swarm score as a step function of the perturbation weight: per row, summed, with its optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.row_draws import draw
from onnxplain_server.methods.swarm.bisection import before
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import ScoreCurve, as_shares
from onnxplain_server.methods.swarm.options import Motion, Resolution
from onnxplain_server.methods.swarm.perturbation import JointMove
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.scoring import Tally
from onnxplain_server.methods.swarm.searching import Optimum, SearchResult

CONFIRMED_ROWS = 1_000
"""Rows of a cohort whose predictions at an optimum are compared with the steps, at most."""
_ROUNDING = 1e-12
"""Relative difference of scores due to rounding of sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps of rows for one feature: label and loss from a weight on.

    Attributes
    ----------
    row : (n,)
        Position in the cohort.
    begin : (n,)
        First weight of the step; 0 for the first step of each row.
    previous : (n,)
        Index of the row's previous step; -1 for its first one.
    label : (n,)
        Predicted class; unused without classes.
    loss : (n,)
        Weighted loss; zeros if labels are scored.
    """

    row: Indices
    begin: Vector
    previous: Indices
    label: Indices
    loss: Vector

    def __len__(self) -> int:
        return len(self.row)

    def labels_at(self, weight: float, count: int) -> Indices:
        """Return the class of each of `count` rows at a weight: (count,)."""
        begun = np.flatnonzero(self.begin <= weight)
        # A step that begins together with its successor is empty.
        previous = self.previous[begun]
        has_ended = np.zeros(len(self), dtype=bool)
        has_ended[previous[previous >= 0]] = True
        last = begun[~has_ended[begun]]
        labels = np.full(count, -1, dtype=np.intp)
        labels[self.row[last]] = self.label[last]
        return labels


def score_curve(steps: Steps, cohort: Cohort, limit: float) -> ScoreCurve:
    """Sum the steps of all rows to a curve of pieces."""
    changes = _changes(steps, cohort)
    order = np.argsort(steps.begin, kind="stable")
    begins = steps.begin[order]
    starts = np.flatnonzero(np.append(True, begins[1:] > begins[:-1]))
    # Sum within each weight, then cumulate over weights.
    sums = np.cumsum(np.add.reduceat(changes[order], starts, axis=0), axis=0)
    *_, losses, infinite_count = sums.T
    tally = Tally(_clean(sums[:, :-2]), np.where(infinite_count > 0, np.inf, losses))
    lows = begins[starts]
    highs = np.append(lows[1:], limit)
    return ScoreCurve(lows, highs, cohort.scorer.scores(tally), as_shares(tally.counts))


def _changes(steps: Steps, cohort: Cohort) -> Matrix:
    """Return each step's change of counts, loss, and number of infinite losses: (n, n_classes + 2).

    Infinite losses are counted, because their differences are NaN.
    """
    classes = cohort.truth.class_count
    changes = np.zeros((len(steps), classes + 2))
    places, weights = np.arange(len(steps)), cohort.truth.weights[steps.row]
    later = np.flatnonzero(steps.previous >= 0)
    if classes:
        changes[places, steps.label] += weights
        changes[later, steps.label[steps.previous[later]]] -= weights[later]
    is_infinite = np.isinf(steps.loss)
    finite = np.where(is_infinite, 0, steps.loss)
    for column, values in ((-2, finite), (-1, is_infinite.astype(float))):
        changes[:, column] = values
        changes[later, column] -= values[steps.previous[later]]
    return changes


def _clean(counts: Matrix) -> Matrix:
    """Set rounding residues of weights that cancel to exactly 0."""
    return np.where(
        np.abs(counts) < _ROUNDING * np.abs(counts).sum(axis=1, keepdims=True), 0.0, counts
    )


def exact_optimum(
    curve: ScoreCurve, cohort: Cohort, motion: Motion, report: Resolution, kind: npt.DTypeLike
) -> SearchResult:
    """Return the global optimum of a curve, and the best one that is not a sliver."""
    neutral = motion.neutral
    ranges = _ranges(curve, kind)
    damage = cohort.scorer.damage(ranges.scores)
    best = _best(ranges, damage, neutral)
    wide = np.flatnonzero(ranges.ends - ranges.lows >= report.sliver_width)
    stable = _best(ranges.take(wide), damage[wide], neutral) if len(wide) else None
    unmoved = cohort.score
    return SearchResult(
        best_weight=best.weight,
        best_score=best.score,
        distance=abs(best.weight - neutral),
        drop=abs(best.score - unmoved) if best.weight != neutral else 0.0,
        curve=curve,
        optimum=best,
        stable_optimum=stable,
    )


def disagreements(
    predictor: MovedRowPredictor,
    cohort: Cohort,
    move: JointMove,
    steps: Steps,
    result: SearchResult,
) -> int:
    """Count rows of a sample whose predicted class at the best weights contradicts the steps."""
    if cohort.truth.classes is None:
        return 0
    rows = draw(np.arange(len(cohort)), CONFIRMED_ROWS, 0)
    count = 0
    optima = (result.optimum, result.stable_optimum)
    for best in {optimum.weight for optimum in optima if optimum is not None}:
        predicted = predictor.predict(cohort.rows[rows], move.take(rows).at(best))
        expected = steps.labels_at(best, len(cohort))[rows]
        count += int((cohort.truth.labels(predicted) != expected).sum())
    return count


@dataclass(frozen=True, slots=True, eq=False)
class _Ranges:
    """Runs of pieces with equal score: first and last weight, start of the next run, and score."""

    lows: Vector
    highs: Vector
    ends: Vector
    scores: Vector

    def take(self, places: Indices) -> _Ranges:
        return _Ranges(
            self.lows[places], self.highs[places], self.ends[places], self.scores[places]
        )


def _ranges(curve: ScoreCurve, kind: npt.DTypeLike) -> _Ranges:
    scores = curve.scores
    scale = _ROUNDING * max(1.0, float(np.abs(scores).max()))
    starts = np.flatnonzero(np.append(True, np.abs(np.diff(scores)) > scale))
    lows = curve.lows[starts]
    ends = np.append(lows[1:], curve.highs[-1])
    highs = np.append(before(lows[1:], kind), curve.highs[-1])
    return _Ranges(lows, highs, ends, scores[starts])


def _best(ranges: _Ranges, damage: Array, neutral: float) -> Optimum:
    """Return the range with most damage, the nearest to neutral among equals."""
    weights = np.clip(neutral, ranges.lows, ranges.highs)
    largest = damage.max()
    equal = np.flatnonzero(damage >= largest - _ROUNDING * max(1.0, abs(float(largest))))
    i = equal[np.argmin(np.abs(weights[equal] - neutral))]
    return Optimum(
        float(weights[i]), float(ranges.scores[i]), float(ranges.lows[i]), float(ranges.highs[i])
    )
