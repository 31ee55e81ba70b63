"""Differences of predictions, judged by the rounding of each output. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Flags, Matrix, Vector

_SHARE = 1e-4
"""Difference that counts as rounding: a share of the range of an output over the rows."""
_ROUNDINGS = 4 * float(np.finfo(np.float32).eps)
"""The same beside it, as a share of the largest prediction: four roundings of float32."""

_FEWEST_ROUNDINGS = 10
"""Roundings by which predictions vary at least that are no constant."""


def rounding_of(expected: Matrix, largest_score: float = 0.0) -> Vector:
    """Return the difference up to which predictions agree, by output: (n_outputs,).

    Parameters
    ----------
    expected : (n_rows, n_outputs)
        Missing and infinite values do not count.
    largest_score : float
        Of all classes, where outputs are probabilities of classes: these are rounded where their
        sum is, so that four roundings of it count for each of them. 0 for other outputs.
    """
    lowest, highest = _ends(expected)
    largest = np.fmax(np.abs(lowest), np.abs(highest))
    with np.errstate(over="ignore"):
        rounding = _SHARE * (highest - lowest) + _ROUNDINGS * largest
    finite_rounding: Vector = np.nan_to_num(rounding, nan=0.0)
    return np.maximum(finite_rounding, _ROUNDINGS * largest_score)


def varies(expected: Matrix, rounding: Vector) -> Flags:
    """Return whether predictions are more than a constant and its rounding: (n_outputs,)."""
    lowest, highest = _ends(expected)
    with np.errstate(over="ignore"):
        varying: Flags = highest - lowest > _FEWEST_ROUNDINGS * rounding
    return varying


def largest_size(predicted: Matrix) -> float:
    """Return the largest finite size of all predictions; 0 without one."""
    return float(
        np.abs(predicted, where=np.isfinite(predicted), out=np.zeros_like(predicted)).max(
            initial=0.0
        )
    )


def _ends(values: Matrix) -> tuple[Vector, Vector]:
    """Return the lowest and the highest finite value of each column; NaN without one."""
    if not len(values):
        return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.fmin.reduce(finite, axis=0), np.fmax.reduce(finite, axis=0)


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
