"""Closed forms for Gaussian columns and linear scores; for others, by the gradient at the mean."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector

_NORMAL = NormalDist()


def of_sum(coefficients: Vector, covariance: Matrix, gradient: Matrix) -> Vector:
    """Signed importance of a sum of columns times coefficients: (n_outputs,)."""
    variance = float(coefficients @ covariance @ coefficients)
    if variance <= 0:
        return np.zeros(gradient.shape[1])
    rise: Vector = coefficients @ covariance @ gradient / np.sqrt(variance)
    return rise


def of_threshold(
    coefficients: Vector, constant: float, mean: Vector, covariance: Matrix, gradient: Matrix
) -> Vector:
    """Signed importance of the condition that a sum plus a constant is above 0: (n_outputs,)."""
    deviation = float(np.sqrt(coefficients @ covariance @ coefficients))
    if deviation <= 0:
        return np.zeros(gradient.shape[1])
    reach = -(float(coefficients @ mean) + constant) / deviation
    # The smaller tail by itself, which 1 - cdf would lose to rounding.
    tails = _NORMAL.cdf(reach) * _NORMAL.cdf(-reach)
    factor = _NORMAL.pdf(reach) / np.sqrt(tails) if tails > 0 else 0.0
    return of_sum(coefficients, covariance, gradient) * factor


def mean_above(reach: float) -> float:
    """Mean of a standard normal variable above a threshold."""
    tail = _NORMAL.cdf(-reach)
    return _NORMAL.pdf(reach) / tail if tail > 0 else reach
