"""Losses per row: squared, absolute and percentage error, deviances, log loss, pinball loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Matrix
from onnxplain_server.core.contract_limits import AverageLossOptions
from onnxplain_server.core.errors import ExplainError, Reason

Loss: TypeAlias = AverageLossOptions.Loss
"""Loss of a row, or score of all rows."""

LOG_LOSSES = frozenset({Loss.LOGLOSS, Loss.MLOGLOSS})
RANK_SCORES = frozenset({Loss.NDCG, Loss.PAIRWISE_ACCURACY})
"""Scores of the order of the rows of a query; their targets are numbers."""
SCORES = frozenset({Loss.ACCURACY, Loss.BALANCED_ACCURACY, Loss.F1, Loss.AUC}) | RANK_SCORES
"""Scores of all rows together, of which larger is better."""
THRESHOLD_SCORES = SCORES - {Loss.AUC} - RANK_SCORES
"""Scores that compare predicted classes, not values."""


@dataclass(frozen=True, slots=True)
class LossParameters:
    """Parameters of some losses; None for other losses, and before they are resolved.

    Attributes
    ----------
    quantile : float or None
        Of PINBALL, in (0, 1).
    threshold : float or None
        Of predicted classes: an output predicts its class above it; None: the largest output does.
    probability_floor : float or None
        Of LOGLOSS and MLOGLOSS: smallest probability.
    rank_count : int or None
        Of NDCG: number of first rows of a query; None: all.
    """

    quantile: float | None = None
    threshold: float | None = None
    probability_floor: float | None = None
    rank_count: int | None = None


NO_PARAMETERS = LossParameters()


@dataclass(frozen=True, slots=True)
class LossAt:
    """Loss or score with the parameter that its name tells.

    Attributes
    ----------
    loss : Loss
    level : float
        Quantile of PINBALL, number of rows of NDCG, threshold of predicted classes.
    """

    loss: Loss
    level: float


Measure: TypeAlias = Loss | LossAt | str
"""Loss or score as its name tells it; of an expression, its text."""

_HALF = 0.5
_PERFECT = 1e-12
"""Distance from the best value, as a share of the best constant's, that is rounding."""


def measure_of(loss: Loss, parameters: LossParameters) -> Loss | LossAt:
    """Return a loss with the parameter that its name tells; a threshold of 1/2 goes without."""
    level: float | None = None
    if loss is Loss.PINBALL:
        level = parameters.quantile
    elif loss is Loss.NDCG:
        level = parameters.rank_count
    elif loss in THRESHOLD_SCORES and parameters.threshold != _HALF:
        level = parameters.threshold
    return loss if level is None else LossAt(loss, level)


def plain_loss(measure: Loss | LossAt) -> Loss:
    """Return a loss without its parameter."""
    return measure.loss if isinstance(measure, LossAt) else measure


def is_score(measure: Measure) -> bool:
    """Return whether larger is better."""
    return not isinstance(measure, str) and plain_loss(measure) in SCORES


def are_perfect(measure: Measure, values: Array, constants: Array) -> Flags:
    """Tell which losses are 0, or scores 1, but for the rounding of a sum: (n_outputs,).

    Parameters
    ----------
    values : (n_outputs,)
    constants : (n_outputs,) or (0,)
        Of the best constant prediction, or a random order, in whose unit the distance is measured;
        empty where it is not known.

    Returns
    -------
    (n_outputs,)
        False of expressions, of which nobody knows the least value.
    """
    if isinstance(measure, str):
        return np.zeros(values.shape, np.bool_)
    best = float(is_score(measure))
    scale = np.abs(constants - best) if constants.size else np.full(values.shape, best)
    flags: Flags = np.abs(values - best) <= _PERFECT * np.where(np.isfinite(scale), scale, 0.0)
    return flags


def row_losses(
    loss: Loss, actual: Matrix, predicted: Matrix, parameters: LossParameters = NO_PARAMETERS
) -> Matrix:
    """Compute the loss of each row; for no score.

    Parameters
    ----------
    actual, predicted : (n_rows, n_outputs)

    Returns
    -------
    (n_rows, n_outputs)
        Or (n_rows, 1) for MLOGLOSS. Infinite for an event of predicted probability 0 without a
        floor, or on float64 overflow. Values outside [0, 1] by rounding are clipped.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the loss is undefined for the values.
    """
    if loss is Loss.MAPE and not actual.all():
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"for the loss MAPE no true value may be 0, which {int((actual == 0).sum()):,} are; "
            "use another loss, or leave these rows out",
            "loss",
        )
    _check_domain(loss, actual, "true values")
    _check_domain(loss, predicted, "predictions")
    with np.errstate(divide="ignore", over="ignore"):
        if loss is Loss.PINBALL:
            return _pinball(actual, predicted, parameters.quantile or 0.5)
        if loss in LOG_LOSSES:
            floor = parameters.probability_floor or 0.0
            predicted = np.clip(predicted, floor, 1 - floor)
        return _FORMULAS[loss](actual, predicted)


def _times_log(factor: Matrix, values: Matrix) -> Matrix:
    """Return factor · log(values), with 0 for a factor of 0."""
    product: Matrix = factor * np.log(values, out=np.zeros_like(values), where=factor != 0)
    return product


def _poisson(actual: Matrix, predicted: Matrix) -> Matrix:
    # y log(y / p), written so that y = p = 0 is 0 and p = 0 with y > 0 is infinite.
    return 2 * (_times_log(actual, actual) - _times_log(actual, predicted) - (actual - predicted))


def _gamma(actual: Matrix, predicted: Matrix) -> Matrix:
    return -2 * (np.log(actual / predicted) - (actual - predicted) / predicted)


def _logloss(actual: Matrix, predicted: Matrix) -> Matrix:
    actual = np.clip(actual, 0, 1)
    return -_times_log(actual, predicted) - _times_log(1 - actual, 1 - predicted)


def _mlogloss(actual: Matrix, predicted: Matrix) -> Matrix:
    actual = np.clip(actual, 0, 1)
    losses: Matrix = -_times_log(actual, predicted).sum(axis=1, keepdims=True)
    return losses


def _pinball(actual: Matrix, predicted: Matrix, quantile: float) -> Matrix:
    distance = actual - predicted
    return np.maximum(quantile * distance, (quantile - 1) * distance)


_FORMULAS: dict[Loss, Callable[[Matrix, Matrix], Matrix]] = {
    Loss.SQUARED_ERROR: lambda actual, predicted: (actual - predicted) ** 2,
    Loss.ABSOLUTE_ERROR: lambda actual, predicted: np.abs(actual - predicted),
    Loss.POISSON: _poisson,
    Loss.GAMMA: _gamma,
    Loss.LOGLOSS: _logloss,
    Loss.MLOGLOSS: _mlogloss,
    Loss.MAPE: lambda actual, predicted: np.abs(actual - predicted) / np.abs(actual),
}

_ROUNDING = 1e-6
"""Tolerance for float32 probabilities outside [0, 1]."""


def _check_domain(loss: Loss, values: Matrix, subject: str) -> None:
    if loss not in _DOMAINS:
        return
    is_valid, rule = _DOMAINS[loss]
    if not is_valid(values):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"for the loss {loss.value} {subject} {rule}; they range from {values.min():g} "
            f"to {values.max():g}",
            "loss",
        )


def _are_probabilities(values: Matrix) -> bool:
    return bool(values.min() >= -_ROUNDING and values.max() <= 1 + _ROUNDING)


_DOMAINS: dict[Loss, tuple[Callable[[Matrix], bool], str]] = {
    Loss.POISSON: (lambda values: bool((values >= 0).all()), "must not be negative"),
    Loss.GAMMA: (lambda values: bool((values > 0).all()), "must be positive"),
    Loss.LOGLOSS: (_are_probabilities, "must be in [0, 1]"),
    Loss.MLOGLOSS: (_are_probabilities, "must be in [0, 1]"),
}
"""Losses that are not defined for all numbers: a check, and the rule in words."""
