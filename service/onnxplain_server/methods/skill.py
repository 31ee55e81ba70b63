"""Skill of predictions: whether any score of the task is better than that of the best constant.

Accuracy ties with a constant wherever one class is frequent, so that a single loss or score does
not show that a model has learned nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss, LossParameters
from onnxplain_server.methods.scores import score

_AREA_ERRORS = 2.0
"""Standard errors by which an area under the ROC curve of one class is above one half."""


def has_skill(comparison: Comparison, actual: Matrix, predicted: Matrix, weights: Vector) -> bool:
    """Return whether a loss or score of the task is better than the constant's, beyond its error.

    Parameters
    ----------
    comparison : Comparison
        Resolved.
    actual, predicted : (n_rows, n_outputs)
    weights : (n_rows,)
        Positive.
    """
    if comparison.one_hot_target and _ranks(actual, predicted, weights):
        return True
    losses = _losses(comparison, actual, predicted, weights)
    return any(_is_better(own, of_constant, weights) for own, of_constant in losses)


def _losses(
    comparison: Comparison, actual: Matrix, predicted: Matrix, weights: Vector
) -> Iterator[tuple[Vector, Vector]]:
    """Yield the losses of each row, by the predictions and by a constant: (n_rows,) each."""
    average = np.broadcast_to(mean(actual, weights), actual.shape)
    if not comparison.one_hot_target:
        median = np.broadcast_to(_medians(actual, weights), actual.shape)
        for k in range(actual.shape[1]):
            yield (actual - predicted)[:, k] ** 2, (actual - average)[:, k] ** 2
            yield np.abs(actual - predicted)[:, k], np.abs(actual - median)[:, k]
        return
    yield ((actual - predicted) ** 2).sum(axis=1), ((actual - average) ** 2).sum(axis=1)
    if predicted.min() < 0 or predicted.max() > 1:
        return
    by_row = replace(comparison, loss=Loss.LOGLOSS, sum_outputs=True, parameters=LossParameters())
    with np.errstate(divide="ignore", invalid="ignore"):
        yield by_row.losses(actual, predicted)[:, 0], by_row.losses(actual, average)[:, 0]


def _is_better(own: Vector, of_constant: Vector, weights: Vector) -> bool:
    """Return whether losses are lower on average, by more than a standard error."""
    gains = of_constant - own
    if not np.isfinite(gains).all():
        return False
    shares = weights / weights.sum()
    gain = float(shares @ gains)
    error = float(np.sqrt(np.sum(shares**2 * (gains - gain) ** 2)))
    return gain > error


def _ranks(actual: Matrix, predicted: Matrix, weights: Vector) -> bool:
    """Return whether the rows of any class are ranked above others, by more than chance does."""
    areas = score(Loss.AUC, actual, predicted, weights, None)
    shares = weights / weights.sum()
    effective = 1 / float(np.sum(shares**2))
    positive = mean(actual, weights) * effective
    negative = effective - positive
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt((effective + 1) / (12 * positive * negative))
    return bool((areas - 0.5 > _AREA_ERRORS * errors).any())


def _medians(actual: Matrix, weights: Vector) -> Vector:
    """Return the weighted medians of columns: (n_outputs,)."""
    medians = []
    for column in actual.T:
        order = np.argsort(column, kind="stable")
        shares = np.cumsum(weights[order])
        medians.append(column[order][np.searchsorted(shares, shares[-1] / 2)])
    return np.array(medians)
