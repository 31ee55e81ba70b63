"""Covariance matrices: as the rows have it, or shrunk to what rows are too few to tell.

Schäfer and Strimmer (2005), "A Shrinkage Approach to Large-Scale Covariance Matrix Estimation
and Implications for Functional Genomics", Statistical Applications in Genetics and Molecular
Biology 4(1), 32. doi:10.2202/1544-6115.1175
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from sklearn.covariance import ledoit_wolf

from onnxplain_server.core.arrays import Matrix, Vector


class Covariance(Enum):
    """How covariances are estimated."""

    EMPIRICAL = "EMPIRICAL"
    SHRUNK = "SHRUNK"
    LEDOIT_WOLF = "LEDOIT_WOLF"


_SINGLE_ROW = 1e-12
"""Share of the weight that lies beside one row, below which that row has it all."""


def covariance(kind: Covariance, rows: Matrix, weights: Vector) -> Matrix:
    """Estimate the covariance matrix of columns: (n_columns, n_columns).

    Parameters
    ----------
    rows : (n, n_columns)
    weights : (n,)
        For LEDOIT_WOLF multiples of the smallest: how often each row counts.
    """
    match kind:
        case Covariance.EMPIRICAL:
            return empirical(rows, weights)
        case Covariance.SHRUNK:
            return shrunk(rows, weights)[0]
        case Covariance.LEDOIT_WOLF:
            counts = np.rint(weights / weights[weights > 0].min()).astype(np.intp)
            repeated = np.repeat(rows, counts, axis=0)
            estimate: Matrix = ledoit_wolf(repeated)[0]
            return estimate


def empirical(rows: Matrix, weights: Vector) -> Matrix:
    """Average the products of deviations; divided by the weight, not by one less."""
    shares = weights / weights.sum()
    centered = rows - shares @ rows
    products: Matrix = (centered * shares[:, None]).T @ centered
    return products


def shrunk(rows: Matrix, weights: Vector) -> tuple[Matrix, float]:
    """Shrink correlations to 0 by as much as their sampling variances ask for; keep variances.

    Returns
    -------
    covariance : (n_columns, n_columns)
        Its variances are unbiased: for equal weights, divided by n - 1.
    intensity : float
        In [0, 1]: 0 leaves correlations as they are.
    """
    shares = weights / weights.sum()
    squares = shares @ shares
    centered = rows - shares @ rows
    if 1 - squares <= _SINGLE_ROW:
        return np.zeros((rows.shape[1], rows.shape[1])), 1.0
    variances = shares @ centered**2 / (1 - squares)
    known = variances > 0
    scale = np.sqrt(np.where(known, variances, 1.0))
    standard = np.where(known, centered / scale, 0.0)
    correlation = (standard * shares[:, None]).T @ standard / (1 - squares)
    np.fill_diagonal(correlation, 1.0)
    intensity = _intensity(standard, shares, correlation)
    kept = (1 - intensity) * correlation
    np.fill_diagonal(kept, 1.0)
    return kept * np.outer(np.sqrt(variances), np.sqrt(variances)), intensity


def _intensity(standard: Matrix, shares: Vector, correlation: Matrix) -> float:
    """Sum of the variances of the correlations over the sum of their squares, at most 1."""
    squares = float(shares @ shares)
    mean = (standard * shares[:, None]).T @ standard
    mean_square = (standard**2 * shares[:, None]).T @ standard**2
    variances = (mean_square - mean**2) * squares / (1 - squares) ** 3
    apart = ~np.eye(len(correlation), dtype=bool)
    total = float((correlation[apart] ** 2).sum())
    if total <= 0:
        return 1.0
    return float(np.clip(variances[apart].sum() / total, 0.0, 1.0))
