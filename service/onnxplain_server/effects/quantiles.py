"""Quantiles of types 1 and 7 (R), and binning by quantiles.

Hyndman and Fan (1996), "Sample Quantiles in Statistical Packages",
The American Statistician 50(4), 361-365.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector

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
    as one) are returned unchanged, and missing ones stay missing.

    Parameters
    ----------
    values : (n,)
    bin_count : int
        At least 2.
    """
    if len(np.unique(values)) <= bin_count:
        return values
    known = ~np.isnan(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, bin_count + 1)))
    if len(edges) < 2:
        return values
    midpoints = (edges[1:] + edges[:-1]) / 2
    binned = values.copy()
    bins = np.searchsorted(edges, values[known], side="right") - 1
    binned[known] = midpoints[np.clip(bins, 0, len(midpoints) - 1)]
    return binned
