"""Weighted sums in an order of their own: means and mean squares over rows, averages of sweeps.

The only place that divides by a sum of weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxplain_server.core.arrays import Array

_VECTOR_PRODUCT = 1 << 13
"""Numbers in the matrix of a product with a vector. OpenBLAS computes one of this size in the
calling thread; larger ones it divides by the cores of the machine, on which the last digits of the
sum would then depend."""
_MATRIX_PRODUCT = 1 << 17
"""The same for products of two matrices, in multiplications."""


def mean(values: Array, weights: Array) -> Array:
    """Average over rows.

    Parameters
    ----------
    values : (n_rows, n_outputs), or (n_replicates, n_rows, n_outputs)
    weights : (n_rows,), or (n_replicates, n_rows)

    Returns
    -------
    (n_outputs,), or (n_replicates, n_outputs) where either has replicates
    """
    shares = (weights / weights.sum(axis=-1, keepdims=True))[..., None, :]
    n_rows, n_outputs = values.shape[-2:]
    size = max(1, _VECTOR_PRODUCT // max(1, n_outputs))
    count = n_rows // size
    rest = count * size
    average: Array = shares[..., rest:] @ values[..., rest:, :]
    if count:
        blocks = values[..., :rest, :].reshape(*values.shape[:-2], count, size, n_outputs)
        block_shares = shares[..., :rest].reshape(*shares.shape[:-2], count, 1, size)
        average = average + (block_shares @ blocks).sum(axis=-3)
    return average[..., 0, :]


def center(values: Array, weights: Array) -> Array:
    """Shift each column of `values` to weighted mean zero; shapes as in `mean`.

    A column that is the same in all rows becomes exactly 0.
    """
    shifted = values - values[..., :1, :]
    average = mean(shifted, weights)[..., None, :]
    if average.ndim > shifted.ndim:
        return shifted - average
    shifted -= average
    return shifted


def mean_square(values: Array, weights: Array) -> Array:
    """Average the squares of the centred `values`; shapes as in `mean`."""
    centered = center(values, weights)
    return mean(np.square(centered, out=centered), weights)


def standard_error(values: Array, weights: Array) -> Array:
    """Return the standard errors of means over independent rows.

    They are √(Σ s² d² / (1 - Σ s²)), with the shares s of the weights and the deviations d from the
    mean; for equal weights, standard deviations over √n_rows.

    Parameters
    ----------
    values : (n_rows, n_outputs)
    weights : (n_rows,)

    Returns
    -------
    (n_outputs,)
        NaN where one row has all the weight, to its rounding.
    """
    shares = weights / weights.sum()
    rest = 1 - float(shares @ shares)
    if rest <= 0:
        return np.full(values.shape[1], np.nan)
    with np.errstate(over="ignore"):
        deviations = center(values, weights)
        scale = np.abs(deviations).max(axis=0)  # squares stay within float64
        relative = deviations / np.where(scale > 0, scale, 1)
        errors: Array = scale * np.sqrt((shares**2) @ relative**2 / rest)
    return errors


def over_rows(shares: Array, predicted: Array) -> Array:
    """Sum over rows: (n_points, n_rows, n_outputs) to (n_points, n_outputs); replicates first.

    Parameters
    ----------
    shares : (n_rows,), or (n_replicates, n_rows)
    """
    n_rows, n_outputs = predicted.shape[-2:]
    length = max(1, _VECTOR_PRODUCT // n_outputs)
    if shares.ndim == 1:
        if n_rows <= length:
            averages: Array = shares @ predicted
            return averages
        return _sum_in_order(shares[s] @ predicted[:, s] for s in _spans(n_rows, length))
    at_once = max(1, length // n_rows)
    replicates = [
        _sum_in_order(shares[r, s] @ predicted[:, s] for s in _spans(n_rows, length))
        for r in _spans(len(shares), at_once)
    ]
    return np.concatenate(replicates, axis=1).swapaxes(0, 1)


def over_points(shares: Array, predicted: Array) -> Array:
    """Sum over points: (n_points, n_rows, n_outputs) to (n_rows, n_outputs); replicates first.

    Parameters
    ----------
    shares : (n_points,), or (n_replicates, n_points)
    """
    flat = predicted.reshape(len(predicted), -1)
    n_points, width = flat.shape
    if shares.ndim == 1:
        height = min(n_points, _VECTOR_PRODUCT)
        columns = _spans(width, _VECTOR_PRODUCT // height)
        parts = [
            _sum_in_order(shares[s] @ flat[s, column] for s in _spans(n_points, height))
            for column in columns
        ]
        return np.concatenate(parts).reshape(predicted.shape[1:])
    length = max(1, _MATRIX_PRODUCT // n_points)
    at_once = max(1, length // width)
    blocks = [
        np.concatenate([shares[r] @ flat[:, c] for c in _spans(width, length)], axis=1)
        for r in _spans(len(shares), at_once)
    ]
    return np.concatenate(blocks).reshape(len(shares), *predicted.shape[1:])


def _sum_in_order(parts: Iterator[Array]) -> Array:
    """Add arrays up, one after another."""
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def _spans(count: int, length: int) -> list[slice]:
    return [slice(start, min(start + length, count)) for start in range(0, count, length)]
