"""Comparison of predictions, or the best constant one, with true values by loss or expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.contract_limits import AverageLossOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.loss_expression import LossExpression
from onnxplain_server.methods.losses import (
    RANK_SCORES,
    SCORES,
    Loss,
    LossParameters,
    Measure,
    measure_of,
    row_losses,
)
from onnxplain_server.methods.ranking.queries import Queries, one_query
from onnxplain_server.methods.ranking.scores import rank_score
from onnxplain_server.methods.scores import score

_AT_ONCE = 1 << 15
"""Numbers of several predictions up to which their losses are computed in one pass."""

RowContext: TypeAlias = LossExpression | Queries
"""What losses read of rows beside true values and predictions."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of predictions with true values, shared by all methods with a loss.

    Attributes
    ----------
    loss : Loss or None
        None with an expression, and before the default is chosen.
    loss_expression : str
        Takes the place of `loss`, unless it is empty.
    target_columns : tuple of str
        One, or one per output; empty, before `resolve`, for the request's target column.
    one_hot_target : bool or None
        Whether the target contains class labels; None, before `resolve`: automatic.
    sum_outputs : bool
        Whether losses are summed over outputs.
    parameters : LossParameters
    query_column : str
        Of RANK_SCORES; empty: all rows are one query.
    """

    loss: Loss | None = None
    target_columns: tuple[str, ...] = ()
    one_hot_target: bool | None = None
    sum_outputs: bool = AverageLossOptions.sum_outputs.default
    loss_expression: str = ""
    parameters: LossParameters = field(default_factory=LossParameters)
    query_column: str = ""

    @property
    def measure(self) -> Loss | str:
        """The loss or score, or the expression; needs one of them."""
        if self.loss_expression:
            return self.loss_expression
        assert self.loss is not None  # noqa: S101 - chosen in preparation
        return self.loss

    @property
    def named_measure(self) -> Measure:
        """The loss or score with what its name tells; as `measure`."""
        measure = self.measure
        return measure if isinstance(measure, str) else measure_of(measure, self.parameters)

    @property
    def is_score(self) -> bool:
        """Return whether larger is better, and rows have no losses of their own."""
        return self.loss in SCORES

    @property
    def direction(self) -> int:
        """Sign of getting worse: 1 for a loss, -1 for a score."""
        return -1 if self.is_score else 1

    @property
    def is_ranking(self) -> bool:
        """Return whether the order of the rows of a query is compared."""
        return self.loss in RANK_SCORES

    @property
    def is_of_all_outputs(self) -> bool:
        """Return whether a loss or score is one for all outputs by its definition."""
        by_largest = self.loss in {Loss.ACCURACY, Loss.BALANCED_ACCURACY}
        return self.loss is Loss.MLOGLOSS or (by_largest and self.parameters.threshold is None)

    def output_names(
        self, names: tuple[str, ...], beside: RowContext | None = None
    ) -> tuple[str, ...]:
        """Return the names of the loss columns, given those of the outputs."""
        is_total = self.is_of_all_outputs
        if isinstance(beside, LossExpression):
            is_total = beside.is_total
        return ("total",) if self.sum_outputs or is_total else names

    def losses(self, actual: Matrix, predicted: Matrix, beside: RowContext | None = None) -> Matrix:
        """Return the loss of each row: (n_rows, n_outputs), or (n_rows, 1) if it is one for all.

        Not for scores.

        Parameters
        ----------
        actual, predicted : (n_rows, n_outputs)
        beside : RowContext or None
            Of the same rows; None without `loss_expression` and queries.
        """
        if isinstance(beside, LossExpression):
            losses = beside.losses(actual, predicted)
        else:
            assert self.loss is not None  # noqa: S101 - chosen in preparation
            losses = row_losses(self.loss, actual, predicted, self.parameters)
        return losses.sum(axis=1, keepdims=True) if self.sum_outputs else losses

    def average(
        self,
        actual: Matrix,
        predicted: Matrix,
        weights: Array,
        beside: RowContext | None = None,
    ) -> Array:
        """Return the average losses over rows, or their score: (n_outputs,), or (1,).

        Raises
        ------
        ExplainError
            INVALID_WEIGHTS if all weights are 0.
        """
        # 0 · ∞ is NaN, so rows of weight 0 are left out.
        is_weighted = weights > 0
        if not is_weighted.any():
            raise ExplainError(
                Reason.INVALID_WEIGHTS,
                "all compared rows have weight 0; raise row_count, or leave out rows of weight 0",
                "weight_column",
            )
        rows = np.flatnonzero(is_weighted)
        beside = beside and beside.take(rows)
        compared = actual[rows], predicted[rows], weights[rows]
        if self.loss in RANK_SCORES:
            queries = beside if isinstance(beside, Queries) else one_query(len(rows))
            return self._rank_scores(*compared, queries)
        if self.loss in SCORES:
            return score(self.loss, *compared, self.parameters.threshold)
        return mean(self.losses(*compared[:2], beside), weights[rows])

    def averages(
        self,
        actual: Matrix,
        predictions: Sequence[Matrix],
        weights: Vector,
        beside: RowContext | None = None,
    ) -> Matrix:
        """Return `average` of several predictions of the same rows: (n_predictions, n_outputs)."""
        if beside is not None or self.is_score or len(predictions) * actual.size > _AT_ONCE:
            return np.stack([self.average(actual, p, weights, beside) for p in predictions])
        rows = np.flatnonzero(weights > 0)
        count = len(predictions)
        predicted = np.concatenate([each[rows] for each in predictions])
        losses = self.losses(np.tile(actual[rows], (count, 1)), predicted)
        return mean(losses.reshape(count, len(rows), -1), weights[rows])

    def _rank_scores(
        self, actual: Matrix, predicted: Matrix, weights: Vector, queries: Queries
    ) -> Vector:
        """Return the scores of the rankings by each output: (n_outputs,)."""
        assert self.loss is not None  # noqa: S101 - chosen in preparation
        columns = zip(actual.T, predicted.T, strict=True)
        count = self.parameters.rank_count
        scores = [rank_score(self.loss, y, p, weights, queries, count) for y, p in columns]
        return np.array(scores)


def constant_losses(
    comparison: Comparison, actual: Matrix, weights: Vector, beside: RowContext | None = None
) -> Vector:
    """Return the loss or score of the best constant prediction: (n_outputs,), or (1,).

    Parameters
    ----------
    comparison : Comparison
        Resolved; the best constant of an expression is not known: (0,).
    actual : (n_rows, n_outputs)
    weights : (n_rows,)
        Not all 0.
    """
    if comparison.loss_expression:
        return np.zeros(0)
    rows = np.flatnonzero(weights > 0)
    actual, weights = actual[rows], weights[rows] / weights.max()
    if comparison.is_ranking:
        beside = beside and beside.take(rows)
        return comparison.average(actual, np.zeros(actual.shape), weights, beside)
    if not comparison.is_score:
        constants = _best_constants(comparison, actual, weights)
        return comparison.average(actual, np.broadcast_to(constants, actual.shape), weights)
    if comparison.loss is Loss.AUC:
        return np.full(actual.shape[1], 0.5)
    if comparison.parameters.threshold is None:
        return _best_single_class(comparison.loss, weights @ (actual > 0.5), weights.sum())
    # For a threshold, a constant prediction is the class or not.
    scores = [
        comparison.average(actual, np.full(actual.shape, side), weights)
        for side in (-np.inf, np.inf)
    ]
    best: Vector = np.nanmax(scores, axis=0)
    return best


def _best_single_class(loss: Loss | None, true: Vector, total: float) -> Vector:
    """Return the best score of one class in all rows, by the weights of classes and of rows."""
    match loss:
        case Loss.F1:
            return 2 * true / (true + total)
        case Loss.ACCURACY:
            return np.array([true.max() / total])
        case _:
            occurring = np.count_nonzero(true)
            return np.array([1 / occurring if occurring else np.nan])


def _best_constants(comparison: Comparison, actual: Matrix, weights: Vector) -> Vector:
    """Return the constants of least average loss: (n_outputs,)."""
    match comparison.loss:
        case Loss.ABSOLUTE_ERROR:
            return weighted_quantiles(actual, weights, 0.5)
        case Loss.PINBALL:
            return weighted_quantiles(actual, weights, comparison.parameters.quantile or 0.5)
        case Loss.MAPE:
            shares = weights[:, np.newaxis] / np.abs(actual)
            return weighted_quantiles(actual, shares, 0.5)
        case Loss.MLOGLOSS:
            # Of rows of the classes that are explained.
            shares = mean(actual, weights)
            return shares / shares.sum() if shares.any() else shares
        case _:
            # Exactly the value where all rows have one.
            means: Vector = actual[0] + mean(actual - actual[0], weights)
            return means


def weighted_quantiles(values: Matrix, weights: Array, level: float) -> Vector:
    """Return the least values that hold a share `level` of the weight: (n_columns,).

    Parameters
    ----------
    values : (n_rows, n_columns)
    weights : (n_rows,) or (n_rows, n_columns)
    """
    found = []
    for column, own in zip(values.T, np.broadcast_to(weights.T, values.T.shape), strict=True):
        order = np.argsort(column, kind="stable")
        shares = np.cumsum(own[order])
        found.append(column[order][np.searchsorted(shares, shares[-1] * level)])
    return np.array(found)
