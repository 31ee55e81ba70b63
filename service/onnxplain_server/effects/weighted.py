"""Weighted averages over rows; the only place that divides by a weight sum."""

from __future__ import annotations

from onnxplain_server.arrays import Matrix, Vector


def mean(values: Matrix, weights: Vector) -> Vector:
    """Average the rows of `values`: (n_rows, n_outputs) -> (n_outputs,)."""
    average: Vector = weights @ values / weights.sum()
    return average


def center(values: Matrix, weights: Vector) -> Matrix:
    """Shift each column of `values` to weighted mean zero; shape is kept."""
    return values - mean(values, weights)


def mean_square(values: Matrix, weights: Vector) -> Vector:
    """Average the squares of the centred `values`: (n_rows, n_outputs) -> (n_outputs,)."""
    return mean(center(values, weights) ** 2, weights)
