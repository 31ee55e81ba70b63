"""Rows as steps of the weight, and what they add up to: the whole curve, and its true optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.table import sample_rows
from onnxplain_server.methods.swarm.bisection import before
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.curve import ScoreCurve, as_shares
from onnxplain_server.methods.swarm.options import Motion, Resolution
from onnxplain_server.methods.swarm.perturbation import Move
from onnxplain_server.methods.swarm.predicting import MovedRowPredictor
from onnxplain_server.methods.swarm.scoring import Tally
from onnxplain_server.methods.swarm.searching import Optimum, SearchResult

_CONFIRMED_ROWS = 1_000
_SAME = 1e-12
"""Relative difference of scores that is rounding of sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What rows are predicted as, from a weight on, for one feature.

    Attributes
    ----------
    row : (n,)
        Position in the cohort.
    begin : (n,)
        First weight; the first step of each row begins at 0.
    previous : (n,)
        The row's step before; -1 for its first one.
    label : (n,)
        Class; not looked at without classes.
    loss : (n,)
        Weighted; zeros where labels are scored.
    """

    row: Indices
    begin: Vector
    previous: Indices
    label: Indices
    loss: Vector

    def __len__(self) -> int:
        return len(self.row)

    def labels_at(self, weight: float, count: int) -> Indices:
        """Class of each of `count` rows with a weight: (count,)."""
        begun = np.flatnonzero(self.begin <= weight)
        # A step that begins with its successor never holds.
        passed = self.previous[begun]
        over = np.zeros(len(self), dtype=bool)
        over[passed[passed >= 0]] = True
        last = begun[~over[begun]]
        labels = np.full(count, -1, dtype=np.intp)
        labels[self.row[last]] = self.label[last]
        return labels


def score_curve(steps: Steps, cohort: Cohort, limit: float) -> ScoreCurve:
    """Add up the steps of all rows: the curve, piece by piece."""
    changes = _changes(steps, cohort)
    order = np.argsort(steps.begin, kind="stable")
    begins = steps.begin[order]
    starts = np.flatnonzero(np.append(True, begins[1:] > begins[:-1]))
    # First within each weight, then from weight to weight.
    sums = np.cumsum(np.add.reduceat(changes[order], starts, axis=0), axis=0)
    *_, losses, endless = sums.T
    tally = Tally(_clean(sums[:, :-2]), np.where(endless > 0, np.inf, losses))
    lows = begins[starts]
    highs = np.append(lows[1:], limit)
    return ScoreCurve(lows, highs, cohort.judge.scores(tally), as_shares(tally.counts))


def _changes(steps: Steps, cohort: Cohort) -> Matrix:
    """By how much each step changes counts, losses, and how many are infinite: (n, n_classes + 2).

    Infinite losses are counted, because what comes of their differences is no number.
    """
    classes = cohort.truth.class_count
    changes = np.zeros((len(steps), classes + 2))
    places, weights = np.arange(len(steps)), cohort.truth.weights[steps.row]
    later = np.flatnonzero(steps.previous >= 0)
    if classes:
        changes[places, steps.label] += weights
        changes[later, steps.label[steps.previous[later]]] -= weights[later]
    endless = np.isinf(steps.loss)
    for column, values in ((-2, np.where(endless, 0, steps.loss)), (-1, endless.astype(float))):
        changes[:, column] = values
        changes[later, column] -= values[steps.previous[later]]
    return changes


def _clean(counts: Matrix) -> Matrix:
    """Make what is left of weights that have gone exactly 0."""
    return np.where(np.abs(counts) < _SAME * np.abs(counts).sum(axis=1, keepdims=True), 0.0, counts)


def exact_optimum(
    curve: ScoreCurve, cohort: Cohort, motion: Motion, report: Resolution, kind: npt.DTypeLike
) -> SearchResult:
    """Find the true optimum of a curve, and the best one that is no sliver."""
    neutral = motion.perturbation.neutral
    ranges = _ranges(curve, kind)
    damage = cohort.judge.damage(ranges.scores)
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


def disagreements(  # noqa: PLR0917 - all that is compared
    predictor: MovedRowPredictor,
    cohort: Cohort,
    feature: int,
    move: Move,
    steps: Steps,
    found: SearchResult,
) -> int:
    """Count rows, of some, that the model predicts as another class with the best weights."""
    if cohort.truth.classes is None:
        return 0
    rows = sample_rows(len(cohort), _CONFIRMED_ROWS, 0)
    count = 0
    for best in {one.weight for one in (found.optimum, found.stable_optimum) if one is not None}:
        predicted = predictor.predict(cohort.rows[rows], feature, move.take(rows).at(best))
        expected = steps.labels_at(best, len(cohort))[rows]
        count += int((cohort.truth.labels(predicted) != expected).sum())
    return count


@dataclass(frozen=True, slots=True, eq=False)
class _Ranges:
    """Runs of pieces with the same score: first and last weight, where the next begins, score."""

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
    scale = _SAME * max(1.0, float(np.abs(scores).max()))
    starts = np.flatnonzero(np.append(True, np.abs(np.diff(scores)) > scale))
    lows = curve.lows[starts]
    ends = np.append(lows[1:], curve.highs[-1])
    highs = np.append(before(lows[1:], kind), curve.highs[-1])
    return _Ranges(lows, highs, ends, scores[starts])


def _best(ranges: _Ranges, damage: Array, neutral: float) -> Optimum:
    """Choose the range that does most harm, the one closest to no change among equals."""
    weights = np.clip(neutral, ranges.lows, ranges.highs)
    most = damage.max()
    equal = np.flatnonzero(damage >= most - _SAME * max(1.0, abs(float(most))))
    i = equal[np.argmin(np.abs(weights[equal] - neutral))]
    return Optimum(
        float(weights[i]), float(ranges.scores[i]), float(ranges.lows[i]), float(ranges.highs[i])
    )
