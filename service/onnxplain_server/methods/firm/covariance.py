"""Covariance matrices: empirical, or shrunk towards uncorrelated columns if rows are few.

Schäfer and Strimmer (2005), "A Shrinkage Approach to Large-Scale Covariance Matrix Estimation
and Implications for Functional Genomics", Statistical Applications in Genetics and Molecular
Biology 4(1), 32. doi:10.2202/1544-6115.1175
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.contract_limits import FirmOptions

Covariance: TypeAlias = FirmOptions.Covariance
"""Covariance estimator."""

_SINGLE_ROW = 1e-12
"""Share of the weight outside the heaviest row, up to which that row counts as the only one."""


def covariance(kind: Covariance, rows: Matrix, weights: Vector) -> Matrix:
    """Estimate the covariance matrix of columns: (n_columns, n_columns).

    Parameters
    ----------
    rows : (n, n_columns)
    weights : (n,)
        For LEDOIT_WOLF, multiples of the smallest weight, used as repeat counts.
    """
    match kind:
        case Covariance.EMPIRICAL:
            return empirical(rows, weights)
        case Covariance.SHRUNK:
            return shrunk(rows, weights)[0]
        case Covariance.LEDOIT_WOLF:
            from sklearn.covariance import ledoit_wolf  # noqa: PLC0415 - only some workers have it

            counts = np.rint(weights / weights[weights > 0].min()).astype(np.intp)
            repeated = np.repeat(rows, counts, axis=0)
            estimate: Matrix = ledoit_wolf(repeated)[0]
            return estimate


def empirical(rows: Matrix, weights: Vector) -> Matrix:
    """Average the products of deviations, divided by the total weight (not by n - 1)."""
    shares = weights / weights.sum()
    centered = rows - shares @ rows
    products: Matrix = (centered * shares[:, None]).T @ centered
    return products


def shrunk(rows: Matrix, weights: Vector) -> tuple[Matrix, float]:
    """Shrink correlations towards 0 by their sampling variances; variances are kept.

    Returns
    -------
    covariance : (n_columns, n_columns)
        With unbiased variances: for equal weights, divided by n - 1. All 0 for a single row.
    intensity : float
        In [0, 1]; 0 keeps the correlations, 1 removes them.
    """
    shares = weights / weights.sum()
    squares = shares @ shares
    centered = rows - shares @ rows
    if 1 - squares <= _SINGLE_ROW:
        return np.zeros((rows.shape[1], rows.shape[1])), 1.0
    variances = shares @ centered**2 / (1 - squares)
    varies = variances > 0
    scale = np.sqrt(np.where(varies, variances, 1.0))
    standard = np.where(varies, centered / scale, 0.0)
    correlation = (standard * shares[:, None]).T @ standard / (1 - squares)
    np.fill_diagonal(correlation, 1.0)
    intensity = _intensity(standard, shares, correlation)
    shrunken = (1 - intensity) * correlation
    np.fill_diagonal(shrunken, 1.0)
    return shrunken * np.outer(np.sqrt(variances), np.sqrt(variances)), intensity


def _intensity(standard: Matrix, shares: Vector, correlation: Matrix) -> float:
    """Return the sum of the correlations' variances over that of their squares, at most 1."""
    squares = float(shares @ shares)
    mean = (standard * shares[:, None]).T @ standard
    mean_square = (standard**2 * shares[:, None]).T @ standard**2
    variances = (mean_square - mean**2) * squares / (1 - squares) ** 3
    off_diagonal = ~np.eye(len(correlation), dtype=bool)
    total = float((correlation[off_diagonal] ** 2).sum())
    if total <= 0:
        return 1.0
    return float(np.clip(variances[off_diagonal].sum() / total, 0.0, 1.0))
