"""Scores by bins: their means, their spread between bins, and what of it is noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class BinStatistics:
    """Scores in bins that weigh something.

    Attributes
    ----------
    shares : (n_bins,)
        Of the weight; 0 for bins without any.
    means : (n_bins, n_outputs)
        Expected score in each bin, minus that of all rows; NaN in bins without weight.
    between : (n_outputs,)
        Variance of the means.
    noise : (n_outputs,)
        By how much `between` is too large on average, because means of finitely many rows
        scatter; NaN where each bin has one row only.
    within : (n_outputs,)
        Variance of scores around the means.
    """

    shares: Vector
    means: Matrix
    between: Vector
    noise: Vector
    within: Vector


def bin_statistics(codes: Array, count: int, scores: Matrix, weights: Vector) -> BinStatistics:
    """Average scores by bins.

    With W the weight of a bin and S the sum of its squared weights, means scatter by
    σ² S / W² around their expectation, so `between` is too large by
    σ² (Σ S / (W ΣW) - ΣS / (ΣW)²); for equal weights by σ² (n_bins - 1) / n.

    Parameters
    ----------
    codes : (n,)
    count : int
        Number of bins.
    scores : (n, n_outputs)
        Shifted to about mean zero, for precision.
    weights : (n,)
        Not negative.
    """
    bins = codes.astype(np.intp)
    sums, squares = _totals(bins, count, weights)
    totals = np.stack([np.bincount(bins, weights * s, count) for s in scores.T], axis=1)
    whole, filled = sums.sum(), sums > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / sums[:, None]
    shares, kept = sums / whole, np.where(filled[:, None], means, 0.0)
    middle = shares @ kept
    between = shares @ (kept - middle) ** 2
    # Not by the linear algebra library, whose threads cost more here than they save.
    square = np.array([(weights * s**2).sum() for s in scores.T])
    residual = np.maximum(square - sums @ kept**2, 0.0)
    ratio = squares[filled] / sums[filled]
    freedom = whole - ratio.sum()
    # All but rounding: every bin has a single row.
    has_spread = freedom > 1e-9 * whole
    within = residual / freedom if has_spread else np.full(scores.shape[1], np.nan)
    noise = within * max(ratio.sum() / whole - squares.sum() / whole**2, 0.0)
    return BinStatistics(shares, means - middle, between, noise, within)


def _totals(bins: Indices, count: int, weights: Vector) -> tuple[Vector, Vector]:
    """Sum weights and their squares by bins; where all are equal, by counting."""
    if (weights == weights[0]).all():
        rows = np.bincount(bins, minlength=count).astype(np.float64)
        weight = np.float64(weights[0])
        return rows * weight, rows * weight**2
    return _sum(bins, count, weights), _sum(bins, count, weights**2)


def _sum(bins: Indices, count: int, values: Vector) -> Vector:
    return np.bincount(bins, values, count).astype(np.float64)


def slope(values: Vector, scores: Matrix, weights: Vector) -> Vector:
    """Rise of the regression line over one standard deviation of the feature: (n_outputs,)."""
    shares = weights / weights.sum()
    centered = np.where(shares > 0, values - shares @ values, 0.0)
    largest = np.abs(centered).max()
    if not largest:
        return np.zeros(scores.shape[1])
    centered = centered / largest  # so that no square overflows, and none vanishes
    rise: Vector = (shares * centered) @ scores / np.sqrt(shares @ centered**2)
    return rise


def spread(scores: Matrix, weights: Vector) -> Vector:
    """Standard deviation of the scores: (n_outputs,)."""
    shares = weights / weights.sum()
    deviation: Vector = np.sqrt(shares @ (scores - shares @ scores) ** 2)
    return deviation
