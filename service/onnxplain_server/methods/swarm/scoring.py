"""Scoring: accuracy, F1, balanced accuracy or average loss of all rows while some are moved.

Unmoved rows keep their predictions, so their contribution is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.loss_expression import LossExpression
from onnxplain_server.methods.swarm.options import Score


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Predictions for the moved rows, counted by class, at several weights.

    Attributes
    ----------
    counts : (n_weights, n_classes)
        Total weight of the rows predicted as each class; (n_weights, 0) without classes.
    losses : (n_weights,)
        Sum of the weighted losses; zeros if labels are scored.
    """

    counts: Matrix
    losses: Vector

    def __len__(self) -> int:
        return len(self.losses)

    def take(self, places: Indices) -> Tally:
        """Select weights, in this order."""
        return Tally(self.counts[places], self.losses[places])

    @classmethod
    def join(cls, parts: list[Tally]) -> Tally:
        """Concatenate weights."""
        return cls(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.losses for part in parts]),
        )


class Scorer(Protocol):
    """Converter of predictions to a score."""

    def scores(self, tally: Tally) -> Vector:
        """Return the score, or average loss, over all rows: (n_weights,)."""

    def damage(self, scores: Vector) -> Vector:
        """Return the objective that a search maximizes, h in the paper: (n_weights,)."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelScorer:
    """Scorer of labels: accuracy, F1 or balanced accuracy.

    Attributes
    ----------
    score : Score
    moved_class : int
        Class of the moved rows.
    unmoved : (n_classes + 1, n_classes)
        Weight of the unmoved rows, by true class (last: not one of the model's) and predicted
        class.
    """

    score: Score
    moved_class: int
    unmoved: Matrix

    def scores(self, tally: Tally) -> Vector:
        """Return the score over all rows: (n_weights,)."""
        confusion = np.repeat(self.unmoved[None], len(tally), axis=0)
        confusion[:, self.moved_class] += tally.counts
        hits = np.diagonal(confusion, axis1=1, axis2=2)
        support = confusion.sum(axis=2)
        present = np.flatnonzero(support[0, :-1] > 0)
        match self.score:
            case Score.ACCURACY:
                accuracy: Vector = hits.sum(axis=1) / support.sum(axis=1)
                return accuracy
            case Score.BALANCED_ACCURACY:
                recall: Vector = (hits[:, present] / support[:, present]).mean(axis=1)
                return recall
            case Score.F1:
                true, found = support[:, present], confusion.sum(axis=1)[:, present]
                f1_by_class = 2 * hits[:, present] / (true + found)
                f1: Vector = (f1_by_class * true).sum(axis=1) / true.sum(axis=1)
                return f1

    def damage(self, scores: Vector) -> Vector:
        """Return the distance of scores from 1."""
        return np.abs(1 - scores)


@dataclass(frozen=True, slots=True, eq=False)
class LossScorer:
    """Scorer by average loss.

    Attributes
    ----------
    unmoved : float
        Sum of the weighted losses of the unmoved rows.
    weight : float
        Total weight of all rows.
    """

    unmoved: float
    weight: float

    def scores(self, tally: Tally) -> Vector:
        """Return the average loss over all rows: (n_weights,)."""
        average: Vector = (self.unmoved + tally.losses) / self.weight
        return average

    def damage(self, scores: Vector) -> Vector:
        """Return the losses themselves."""
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """True values of rows, and their comparison with predictions.

    Attributes
    ----------
    classes : (n,) or None
        Position of each row's class among the model's, or `class_count` for any other; None
        without classes.
    class_count : int
    actual : (n, n_outputs)
    comparison : Comparison or None
        None: labels are scored.
    score : Score or None
    weights : (n,)
    expression : LossExpression or None
        Loss of these rows, if it is an expression.
    """

    classes: Indices | None
    class_count: int
    actual: Matrix
    comparison: Comparison | None
    score: Score | None
    weights: Vector
    expression: LossExpression | None = None

    def take(self, rows: Indices) -> GroundTruth:
        """Select rows, in this order."""
        return replace(
            self,
            classes=None if self.classes is None else self.classes[rows],
            actual=self.actual[rows],
            weights=self.weights[rows],
            expression=self.expression and self.expression.take(rows),
        )

    def labels(self, predicted: Array) -> Indices:
        """Return the predicted class of each row: the first of its largest outputs."""
        labels: Indices = np.argmax(predicted, axis=1)
        return labels

    def losses(self, predicted: Matrix) -> Vector:
        """Return the weighted loss of each row, summed over outputs: (n,); 0 for labels."""
        if self.comparison is None:
            return np.zeros(len(predicted))
        losses: Vector = self.comparison.losses(self.actual, predicted, self.expression).sum(axis=1)
        is_weighted = self.weights > 0  # 0 · ∞ is NaN
        return np.multiply(self.weights, losses, out=np.zeros(len(losses)), where=is_weighted)

    def scorer(self, predicted: Matrix, moved: Indices) -> Scorer:
        """Build the scorer for moving some rows, given the predictions of all."""
        is_unmoved = np.ones(len(predicted), dtype=bool)
        is_unmoved[moved] = False
        if self.comparison is not None:
            unmoved = float(self.losses(predicted)[is_unmoved].sum())
            return LossScorer(unmoved, float(self.weights.sum()))
        assert self.classes is not None and self.score is not None  # noqa: S101, PT018 - labels need classes
        confusion = np.zeros((self.class_count + 1, self.class_count))
        places = self.classes[is_unmoved], self.labels(predicted)[is_unmoved]
        np.add.at(confusion, places, self.weights[is_unmoved])
        return LabelScorer(self.score, int(self.classes[moved[0]]), confusion)

    def tally(self, labels: Indices | None, losses: Vector) -> Tally:
        """Count the predictions for these rows at one weight."""
        counts = np.zeros((1, self.class_count))
        if labels is not None:
            counts[0] = np.bincount(labels, self.weights, self.class_count)
        return Tally(counts, np.array([losses.sum()]))
