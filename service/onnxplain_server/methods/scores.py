"""Scores of all rows together: accuracy, balanced accuracy, F1 and the area under the ROC curve.

Larger is better, and 1 is perfect. They equal scikit-learn's `accuracy_score`,
`balanced_accuracy_score`, `f1_score` and `roc_auc_score` with `sample_weight`.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.losses import Loss


def score(
    loss: Loss, actual: Matrix, predicted: Matrix, weights: Vector, threshold: float | None
) -> Vector:
    """Compute a score.

    Parameters
    ----------
    loss : Loss
        A score.
    actual : (n_rows, n_outputs)
        1 for rows of the output's class, 0 for others.
    predicted : (n_rows, n_outputs)
    weights : (n_rows,)
        Positive.
    threshold : float or None
        Each output predicts its class above it. None: the largest output does, the first of equal
        ones; the outputs are then all that the model has.

    Returns
    -------
    (n_outputs,)
        Or (1,) for accuracy and balanced accuracy without a threshold. NaN where it is not
        defined.
    """
    is_true = actual > 0.5
    if loss is Loss.AUC:
        columns = zip(is_true.T, predicted.T, strict=True)
        return np.array([_area_under_curve(true, values, weights) for true, values in columns])
    if threshold is not None:
        return _two_sided(loss, is_true, predicted > threshold, weights)
    largest = predicted.argmax(axis=1)[:, np.newaxis] == np.arange(predicted.shape[1])
    hits, true = weights @ (is_true & largest), weights @ is_true
    match loss:
        case Loss.F1:
            return _ratio(2 * hits, true + weights @ largest)
        case Loss.ACCURACY:
            return np.array([hits.sum() / weights.sum()])
        case _:
            return np.array([_mean_recall(hits, true)])


def _two_sided(loss: Loss, is_true: Array, is_predicted: Array, weights: Vector) -> Vector:
    """Score each output by itself: its class against all others."""
    hits, true = weights @ (is_true & is_predicted), weights @ is_true
    rejected, negative = weights @ ~(is_true | is_predicted), weights @ ~is_true
    match loss:
        case Loss.F1:
            return _ratio(2 * hits, true + weights @ is_predicted)
        case Loss.ACCURACY:
            accuracy: Vector = (hits + rejected) / weights.sum()
            return accuracy
        case _:
            both = zip(np.array([hits, rejected]).T, np.array([true, negative]).T, strict=True)
            return np.array([_mean_recall(*pair) for pair in both])


def _mean_recall(hits: Vector, true: Vector) -> float:
    """Average the recall over the classes that occur; NaN if none does."""
    occurs = true > 0
    return float((hits[occurs] / true[occurs]).mean()) if occurs.any() else np.nan


def _area_under_curve(is_true: Array, values: Vector, weights: Vector) -> float:
    """Return the share of pairs, one row of the class and one of another, in the right order."""
    codes = np.unique(values, return_inverse=True)[1]
    positive = np.bincount(codes, weights * is_true)
    negative = np.bincount(codes, weights * ~is_true)
    pairs = positive.sum() * negative.sum()
    ordered = positive @ (np.cumsum(negative) - negative / 2)
    return float(ordered / pairs) if pairs > 0 else np.nan


def _ratio(numerators: Vector, denominators: Vector) -> Vector:
    """Divide; NaN where the denominator is 0."""
    ratio: Vector = np.divide(
        numerators, denominators, out=np.full(len(numerators), np.nan), where=denominators > 0
    )
    return ratio
