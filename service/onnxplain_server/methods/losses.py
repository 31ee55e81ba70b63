"""Losses per row: squared and absolute error, Poisson and Gamma deviance, log loss."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.errors import ExplainError, Reason


class Loss(Enum):
    """Loss function; see `AverageLossOptions.Loss` in the contract."""

    SQUARED_ERROR = "SQUARED_ERROR"
    ABSOLUTE_ERROR = "ABSOLUTE_ERROR"
    POISSON = "POISSON"
    GAMMA = "GAMMA"
    LOGLOSS = "LOGLOSS"
    MLOGLOSS = "MLOGLOSS"


def row_losses(loss: Loss, actual: Matrix, predicted: Matrix) -> Matrix:
    """Compute the loss of each row.

    Parameters
    ----------
    actual, predicted : (n_rows, n_outputs)

    Returns
    -------
    (n_rows, n_outputs)
        Or (n_rows, 1) for MLOGLOSS. Infinite for an event of predicted probability 0, or on
        float64 overflow. Only values outside [0, 1] by rounding are clipped.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the loss is undefined for the values.
    """
    _check_domain(loss, actual, "true values")
    _check_domain(loss, predicted, "predictions")
    with np.errstate(divide="ignore", over="ignore"):
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
    actual, predicted = np.clip(actual, 0, 1), np.clip(predicted, 0, 1)
    return -_times_log(actual, predicted) - _times_log(1 - actual, 1 - predicted)


def _mlogloss(actual: Matrix, predicted: Matrix) -> Matrix:
    actual, predicted = np.clip(actual, 0, 1), np.clip(predicted, 0, 1)
    losses: Matrix = -_times_log(actual, predicted).sum(axis=1, keepdims=True)
    return losses


_FORMULAS: dict[Loss, Callable[[Matrix, Matrix], Matrix]] = {
    Loss.SQUARED_ERROR: lambda actual, predicted: (actual - predicted) ** 2,
    Loss.ABSOLUTE_ERROR: lambda actual, predicted: np.abs(actual - predicted),
    Loss.POISSON: _poisson,
    Loss.GAMMA: _gamma,
    Loss.LOGLOSS: _logloss,
    Loss.MLOGLOSS: _mlogloss,
}

_ROUNDING = 1e-6
"""Tolerance for float32 probabilities outside [0, 1]."""


def _check_domain(loss: Loss, values: Matrix, subject: str) -> None:
    rules: dict[Loss, tuple[bool, str]] = {
        Loss.POISSON: (bool((values >= 0).all()), "must not be negative"),
        Loss.GAMMA: (bool((values > 0).all()), "must be positive"),
        Loss.LOGLOSS: (_are_probabilities(values), "must be in [0, 1]"),
        Loss.MLOGLOSS: (_are_probabilities(values), "must be in [0, 1]"),
    }
    is_valid, rule = rules.get(loss, (True, ""))
    if not is_valid:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"for the loss {loss.value} {subject} {rule}; they range from {values.min():g} "
            f"to {values.max():g}",
            "loss",
        )


def _are_probabilities(values: Matrix) -> bool:
    return bool(values.min() >= -_ROUNDING and values.max() <= 1 + _ROUNDING)
