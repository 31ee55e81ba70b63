"""Differences of predictions, judged by the rounding of each output. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Flags, Matrix, Vector

_SHARE = 1e-4
"""Difference that counts as rounding: a share of the range of an output over the rows."""
_ROUNDINGS = 4 * float(np.finfo(np.float32).eps)
"""The same beside it, as a share of the largest prediction: four roundings of float32."""


def rounding_of(expected: Matrix) -> Vector:
    """Return the difference up to which predictions agree, by output: (n_outputs,).

    Parameters
    ----------
    expected : (n_rows, n_outputs)
        Missing and infinite values do not count.
    """
    finite = np.where(np.isfinite(expected), expected, np.nan)
    if not len(finite):
        return np.zeros(expected.shape[1])
    lowest = np.fmin.reduce(finite, axis=0)
    highest = np.fmax.reduce(finite, axis=0)
    largest = np.fmax(np.abs(lowest), np.abs(highest))
    with np.errstate(over="ignore"):
        rounding = _SHARE * (highest - lowest) + _ROUNDINGS * largest
    finite_rounding: Vector = np.nan_to_num(rounding, nan=0.0)
    return finite_rounding


def sizes_of(predicted: Matrix, expected: Matrix) -> Matrix:
    """Return absolute differences, of the shape given; infinite where only one side has a value.

    Two missing values, and two equal infinite ones, do not differ.
    """
    both_missing = np.isnan(predicted) & np.isnan(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(predicted - expected)
    sizes = np.where(both_missing | (predicted == expected), 0.0, sizes)
    return np.nan_to_num(sizes, nan=np.inf, posinf=np.inf)


def agree(predicted: Matrix, expected: Matrix, rounding: Vector) -> Flags:
    """Return whether the predictions of each row agree within rounding: (n_rows,)."""
    is_rounding = np.less_equal(sizes_of(predicted, expected), rounding)
    agreeing: Flags = np.logical_and.reduce(is_rounding, axis=1)
    return agreeing
