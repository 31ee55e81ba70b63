"""Weighted mean and mean square over rows: the only place that divides by a sum of weights."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array

_BLOCK = 1 << 13
"""Numbers per product. OpenBLAS computes one of this size in the calling thread; larger ones it
divides by the cores of the machine, on which the last digits of the sum would then depend."""


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
    size = max(1, _BLOCK // max(1, n_outputs))
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
