"""From what is predicted for the rows that are moved to a score of all rows.

The rows that are not moved keep their predictions, so they count once and for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.swarm.options import Score
from onnxplain_server.methods.target import Comparison


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What is predicted for the moved rows, at several weights.

    Attributes
    ----------
    counts : (n_weights, n_classes)
        Weight of the rows predicted as each class; (n_weights, 0) without classes.
    losses : (n_weights,)
        Sum of the weighted losses; zeros where labels are scored.
    """

    counts: Matrix
    losses: Vector

    def __len__(self) -> int:
        return len(self.losses)

    def take(self, places: Indices) -> Tally:
        """Keep these weights, in this order."""
        return Tally(self.counts[places], self.losses[places])

    @classmethod
    def join(cls, parts: list[Tally]) -> Tally:
        """Put weights one after the other."""
        return cls(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.losses for part in parts]),
        )


class Scorer(Protocol):
    """Scores what is predicted."""

    def scores(self, tally: Tally) -> Vector:
        """Score, or average loss, over all rows: (n_weights,)."""

    def damage(self, scores: Vector) -> Vector:
        """How bad scores are: what a search raises, h in the paper."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelScorer:
    """Scores labels.

    Attributes
    ----------
    score : Score
    moved_class : int
        Class of the rows that are moved.
    still : (n_classes + 1, n_classes)
        Weight of the rows that are not moved, by true class (last: none of the model's) and
        predicted class.
    """

    score: Score
    moved_class: int
    still: Matrix

    def scores(self, tally: Tally) -> Vector:
        """See `Scorer.scores`."""
        confusion = np.repeat(self.still[None], len(tally), axis=0)
        confusion[:, self.moved_class] += tally.counts
        hits = np.diagonal(confusion, axis1=1, axis2=2)
        support = confusion.sum(axis=2)
        if self.score is Score.ACCURACY:
            accuracy: Vector = hits.sum(axis=1) / support.sum(axis=1)
            return accuracy
        present = np.flatnonzero(support[0, :-1] > 0)
        hits, support = hits[:, present], support[:, present]
        if self.score is Score.BALANCED_ACCURACY:
            recall: Vector = (hits / support).mean(axis=1)
            return recall
        harmony = 2 * hits / (support + confusion.sum(axis=1)[:, present])
        f1: Vector = (harmony * support).sum(axis=1) / support.sum(axis=1)
        return f1

    def damage(self, scores: Vector) -> Vector:
        """See `Scorer.damage`."""
        return np.abs(1 - scores)


@dataclass(frozen=True, slots=True, eq=False)
class LossScorer:
    """Averages losses.

    Attributes
    ----------
    still : float
        Sum of the weighted losses of the rows that are not moved.
    weight : float
        Of all rows.
    """

    still: float
    weight: float

    def scores(self, tally: Tally) -> Vector:
        """See `Scorer.scores`."""
        average: Vector = (self.still + tally.losses) / self.weight
        return average

    def damage(self, scores: Vector) -> Vector:
        """See `Scorer.damage`."""
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """The true values of rows, and how predictions are compared with them.

    Attributes
    ----------
    classes : (n,) or None
        Position of each row's class among the model's, and as many as those for any other; None
        without classes.
    class_count : int
    actual : (n, n_outputs)
    comparison : Comparison or None
        None: labels are scored.
    score : Score or None
    weights : (n,)
    """

    classes: Indices | None
    class_count: int
    actual: Matrix
    comparison: Comparison | None
    score: Score | None
    weights: Vector

    def take(self, rows: Indices) -> GroundTruth:
        """Keep these rows, in this order."""
        classes = None if self.classes is None else self.classes[rows]
        actual, weights = self.actual[rows], self.weights[rows]
        return GroundTruth(classes, self.class_count, actual, self.comparison, self.score, weights)

    def labels(self, predicted: Array) -> Indices:
        """Class that each row is taken for: that of the largest output, the first of several."""
        labels: Indices = np.argmax(predicted, axis=1)
        return labels

    def losses(self, predicted: Matrix) -> Vector:
        """Weighted loss of each row, summed over outputs: (n,); zeros where labels are scored."""
        if self.comparison is None:
            return np.zeros(len(predicted))
        found: Vector = self.comparison.losses(self.actual, predicted).sum(axis=1)
        kept = self.weights > 0  # a weight of 0 takes an infinite loss away
        return np.multiply(self.weights, found, out=np.zeros(len(found)), where=kept)

    def judge(self, predicted: Matrix, moved: Indices) -> Scorer:
        """Make the judge for some rows being moved, given the predictions of all."""
        rest = np.ones(len(predicted), dtype=bool)
        rest[moved] = False
        if self.comparison is not None:
            still = float(self.losses(predicted)[rest].sum())
            return LossScorer(still, float(self.weights.sum()))
        assert self.classes is not None and self.score is not None  # noqa: S101, PT018 - labels are of classes
        confusion = np.zeros((self.class_count + 1, self.class_count))
        places = self.classes[rest], self.labels(predicted)[rest]
        np.add.at(confusion, places, self.weights[rest])
        return LabelScorer(self.score, int(self.classes[moved[0]]), confusion)

    def tally(self, labels: Indices | None, losses: Vector) -> Tally:
        """Count what is predicted at one weight for these rows."""
        counts = np.zeros((1, self.class_count))
        if labels is not None:
            counts[0] = np.bincount(labels, self.weights, self.class_count)
        return Tally(counts, np.array([losses.sum()]))
