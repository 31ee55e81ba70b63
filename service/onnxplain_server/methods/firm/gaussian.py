"""Closed forms of FIRM: exact for Gaussian columns and linear scores, else first-order."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector, unit_of_squares

_NORMAL = NormalDist()


def of_sum(coefficients: Vector, covariance: Matrix, gradient: Matrix) -> Vector:
    """Return the signed importance of a linear combination of columns: (n_outputs,)."""
    coefficients = coefficients / unit_of_squares(coefficients)
    variance = float(coefficients @ covariance @ coefficients)
    if variance <= 0:
        return np.zeros(gradient.shape[1])
    rise: Vector = coefficients @ covariance @ gradient / np.sqrt(variance)
    return rise


def deviation_of(coefficients: Vector, covariance: Matrix) -> float:
    """Return the standard deviation of a linear combination of columns."""
    unit = unit_of_squares(coefficients)
    coefficients = coefficients / unit
    # Of columns that depend on each other it may be less than 0, by rounding.
    variance = max(float(coefficients @ covariance @ coefficients), 0.0)
    return float(unit * np.sqrt(variance))


def of_threshold(
    coefficients: Vector, constant: float, mean: Vector, covariance: Matrix, gradient: Matrix
) -> Vector:
    """Return the signed importance of the condition "sum + constant > 0": (n_outputs,)."""
    deviation = deviation_of(coefficients, covariance)
    if deviation <= 0:
        return np.zeros(gradient.shape[1])
    reach = -(float(coefficients @ mean) + constant) / deviation
    # 1 - cdf would lose the smaller tail to rounding.
    tails = _NORMAL.cdf(reach) * _NORMAL.cdf(-reach)
    factor = _NORMAL.pdf(reach) / np.sqrt(tails) if tails > 0 else 0.0
    return of_sum(coefficients, covariance, gradient) * factor


def mean_above(reach: float) -> float:
    """Return the mean of a standard normal variable above a threshold."""
    tail = _NORMAL.cdf(-reach)
    return _NORMAL.pdf(reach) / tail if tail > 0 else reach
