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

    The edges are quantiles of type 7; bins include their lower edge, and the last bin its upper
    edge too. Values with at most `bin_count` distinct ones (missing counts as one) are returned
    unchanged; missing and infinite ones stay as they are. So does a value at which quantiles
    coincide, as that of most rows does: the values below and above it share the other bins by
    their numbers.

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
    # A quarter: sums and differences of numbers at the ends of float64 exceed it.
    unit = 4.0 if np.abs(values[known]).max() > _LARGE else 1.0
    binned = values.copy()
    binned[known] = unit * _binned(values[known] / unit, bin_count)
    return binned


def _binned(values: Vector, bin_count: int) -> Vector:
    """Replace values, none of them missing, as `to_bin_midpoints` does; also by a single bin."""
    quantiles = np.quantile(values, np.linspace(0, 1, bin_count + 1))
    edges, counts = np.unique(quantiles, return_counts=True)
    if (counts > 1).any():
        return _binned_around(values, edges[counts > 1], bin_count)
    midpoints = (edges[1:] + edges[:-1]) / 2
    bins = np.searchsorted(edges, values, side="right") - 1
    binned: Vector = midpoints[np.clip(bins, 0, len(midpoints) - 1)]
    return binned


def _binned_around(values: Vector, common: Vector, bin_count: int) -> Vector:
    """Bin the values between common ones, which stay as they are: (n_common,), ascending."""
    gaps = np.searchsorted(common, values)
    is_common = common[np.minimum(gaps, len(common) - 1)] == values
    binned = values.copy()
    present, rows = np.unique(gaps[~is_common], return_counts=True)
    shares = shared_out(bin_count - len(common), rows)
    for gap, count in zip(present.tolist(), shares.tolist(), strict=True):
        own = ~is_common & (gaps == gap)
        if len(np.unique(values[own])) > count:
            binned[own] = _binned(values[own], count)
    return binned


def shared_out(total: int, sizes: Vector | Indices) -> Indices:
    """Share out `total`, at least one to each, in proportion to sizes: (n,)."""
    ideal = (total - len(sizes)) * sizes / (sizes.sum() or 1)
    shares: Indices = 1 + np.floor(ideal).astype(np.intp)
    largest = np.argsort(np.floor(ideal) - ideal, kind="stable")
    shares[largest[: total - shares.sum()]] += 1
    return shares


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
