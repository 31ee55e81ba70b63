"""Weighted mean and mean square over rows: the only place that divides by a sum of weights."""

from __future__ import annotations

from onnxplain_server.core.arrays import Array


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
    shares = weights / weights.sum(axis=-1, keepdims=True)
    average: Array = (shares[..., None, :] @ values)[..., 0, :]
    return average


def center(values: Array, weights: Array) -> Array:
    """Shift each column of `values` to weighted mean zero; shapes as in `mean`.

    A column that is the same in all rows becomes exactly 0.
    """
    shifted = values - values[..., :1, :]
    return shifted - mean(shifted, weights)[..., None, :]


def mean_square(values: Array, weights: Array) -> Array:
    """Average the squares of the centred `values`; shapes as in `mean`."""
    return mean(center(values, weights) ** 2, weights)
