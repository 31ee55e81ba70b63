"""Bin statistics of scores: means, variance between bins, and its sampling noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector, unit_of_squares
from onnxplain_server.methods.firm.bins import for_kernel
from onnxplain_server.trees.kernels.binning import sum_scores


@dataclass(frozen=True, slots=True, eq=False)
class BinStatistics:
    """Means and variances of scores by bin.

    Attributes
    ----------
    shares : (n_bins,)
        Shares of the weight; 0 for empty bins.
    means : (n_bins, n_outputs)
        Mean score of each bin, minus the overall mean; NaN for empty bins.
    between : (n_outputs,)
        Variance of the means.
    noise : (n_outputs,)
        Expected excess of `between`, because means of finitely many rows scatter; NaN if each
        bin has the weight of a single row.
    within : (n_outputs,)
        Variance of scores within bins.
    """

    shares: Vector
    means: Matrix
    between: Vector
    noise: Vector
    within: Vector


def bin_statistics(
    codes: Array, totals: Array, scores: Matrix, weights: Vector, square: Vector
) -> BinStatistics:
    """Compute bin statistics.

    With W the weight of a bin and S the sum of its squared weights, a mean has the variance
    σ² S / W² around its expectation, so `between` is too large by
    σ² (Σ S / (W ΣW) - ΣS / (ΣW)²); for equal weights by σ² (n_bins - 1) / n.

    Parameters
    ----------
    codes : (n,)
    totals : (2, n_bins)
        `weight_totals` of the bins.
    scores : (n, n_outputs)
        Shifted to about mean zero, for precision.
    weights : (n,)
        Not negative.
    square : (n_outputs,)
        `sum_of_squares` of the scores.
    """
    return statistics_of(score_sums(codes, totals.shape[1], scores, weights), totals, square)


def score_sums(codes: Array, count: int, scores: Matrix, weights: Vector) -> Matrix:
    """Add up the weighted scores of each bin: (n, n_outputs) to (count, n_outputs)."""
    sums = np.zeros((count, scores.shape[1]))
    sum_scores(codes, for_kernel(weights), for_kernel(scores), sums)
    return sums


def statistics_of(bin_sums: Matrix, totals: Array, square: Vector) -> BinStatistics:
    """Compute bin statistics from the sums of weighted scores by bin, (n_bins, n_outputs)."""
    sums, squares = totals
    total, filled = sums.sum(), sums > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = bin_sums / sums[:, None]
    shares, finite = sums / total, np.where(filled[:, None], means, 0.0)
    mean, between = mean_and_variance(finite, shares)
    residual = np.maximum(square - sums @ finite**2, 0.0)
    ratio = squares[filled] / sums[filled]
    freedom = total - ratio.sum()
    # Otherwise each bin has a single row, up to rounding.
    has_spread = freedom > 1e-9 * total
    within = residual / freedom if has_spread else np.full(len(square), np.nan)
    noise = within * max((ratio.sum() - squares.sum() / total) / total, 0.0)
    return BinStatistics(shares, means - mean, between, noise, within)


def mean_and_variance(values: Matrix, shares: Vector) -> tuple[Vector, Vector]:
    """Return means and variances, (n_outputs,) each; of expected scores, Q² of the paper.

    The variance is that of E[score | feature], by values or bins, or at the rows of a spline; of
    scores themselves, the largest Q² that a feature can have.
    """
    mean = shares @ values
    return mean, shares @ (values - mean) ** 2


def sum_of_squares(scores: Matrix, weights: Vector) -> Vector:
    """Add up the weighted squares of the scores: (n_outputs,)."""
    # No matrix product: the threads of BLAS cost more here than they save.
    return np.array([(weights * s**2).sum() for s in scores.T])


def slope(values: Vector, scores: Matrix, weights: Vector) -> Vector:
    """Return the regression line's rise per standard deviation of the feature: (n_outputs,)."""
    shares = weights / weights.sum()
    values = values / unit_of_squares(values)
    centered = np.where(shares > 0, values - shares @ values, 0.0)
    largest = np.abs(centered).max()
    if not largest:
        return np.zeros(scores.shape[1])
    centered = centered / largest  # prevents overflow and underflow of squares
    rise: Vector = (shares * centered) @ scores / np.sqrt(shares @ centered**2)
    return rise


def spread(scores: Matrix, weights: Vector) -> Vector:
    """Return the standard deviation of the scores: (n_outputs,)."""
    deviation: Vector = np.sqrt(mean_and_variance(scores, weights / weights.sum())[1])
    return deviation
