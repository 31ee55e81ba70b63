"""Quantiles of types 1 and 7 (R), binning by quantiles, and even steps between numbers.

Hyndman and Fan (1996), "Sample Quantiles in Statistical Packages",
The American Statistician 50(4), 361-365.
"""

from __future__ import annotations

import math

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector

_LARGE, _LARGEST = 1e307, float(np.finfo(np.float64).max)
_FUZZ = 4 * float(np.finfo(np.float64).eps)
"""Tolerance of R's `quantile(type = 1)`; without it, 0.01 · 100 may miss its rank."""


def inverse_ecdf(values: Vector, probabilities: Vector) -> Vector:
    """Return quantiles of type 1: observed values, by the inverse of the distribution.

    Parameters
    ----------
    values : (n,)
        At least one that is not missing; missing ones are ignored.
    probabilities : (n_probabilities,)
        In [0, 1].
    """
    return sorted_quantiles(np.sort(values[~np.isnan(values)]), probabilities)


def sorted_quantiles(known: Vector, probabilities: Vector) -> Vector:
    """Return quantiles of type 1 of ascending values, none of them missing."""
    quantiles: Vector = known[quantile_places(len(known), probabilities)]
    return quantiles


def quantile_places(count: int, probabilities: Vector) -> Indices:
    """Return the places of quantiles of type 1 among `count` ascending values."""
    rank = count * probabilities
    below = np.floor(rank + _FUZZ).astype(int)
    index = np.where(rank > below + _FUZZ, below, below - 1)
    places: Indices = np.clip(index, 0, count - 1)
    return places


def to_bin_midpoints(values: Vector, bin_count: int) -> Vector:
    """Replace values by the midpoints of their quantile bins.

    The edges are quantiles of type 7; bins include their lower edge, and the last
    bin its upper edge too. Values with at most `bin_count` distinct ones (missing counts
    as one) are returned unchanged; missing and infinite ones stay as they are.

    Parameters
    ----------
    values : (n,)
    bin_count : int
        At least 2.
    """
    if len(np.unique(values)) <= bin_count:
        return values
    known = np.isfinite(values)
    if not known.any():
        return values
    # A quarter: differences of numbers at the ends of float64 exceed it.
    unit = 4.0 if np.abs(values[known]).max() > _LARGE else 1.0
    edges = np.unique(unit * np.quantile(values[known] / unit, np.linspace(0, 1, bin_count + 1)))
    if len(edges) < 2:
        return values
    midpoints = edges[1:] / 2 + edges[:-1] / 2 if unit > 1 else (edges[1:] + edges[:-1]) / 2
    binned = values.copy()
    bins = np.searchsorted(edges, values[known], side="right") - 1
    binned[known] = midpoints[np.clip(bins, 0, len(midpoints) - 1)]
    return binned


def even_steps(low: float, high: float, size: int) -> Vector:
    """Return distinct numbers at even steps; of a range beyond float64, by its half."""
    if math.isfinite(high - low):
        return np.unique(np.linspace(low, high, size))
    return np.unique(2 * np.linspace(low / 2, high / 2, size))


def even_histogram(
    values: Vector, bin_count: int, weights: Vector | None = None
) -> tuple[Vector, Vector]:
    """Count finite values in bins of one width: counts, (n_bins,), and borders, (n_bins + 1,).

    There are fewer bins where so many have no width.
    """
    low, high = float(values.min()), float(values.max())
    borders = even_steps(low, high, bin_count + 1)
    if len(borders) < 2:
        half = max(0.5, 1e-3 * abs(low))
        borders = even_steps(max(low - half, -_LARGEST), min(low + half, _LARGEST), bin_count + 1)
    counts, _ = np.histogram(values, borders, weights=weights)
    return counts.astype(np.float64), borders
