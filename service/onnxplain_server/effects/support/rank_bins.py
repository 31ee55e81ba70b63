"""Bins of a feature by rank: numbers in bins of about one weight, frequent texts one by one."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector


class RankBins:
    """Bins of one feature.

    Numbers are cut at weighted quantiles, each of which belongs to the bin that it ends, so that
    equal values share a bin; the last bin is that of missing values. Each frequent text has a bin,
    missing ones among them; all other texts have the last one.

    Parameters
    ----------
    column : (n_rows,)
        float64, or texts.
    weights : (n_rows,)
        Positive.
    bin_count : int
        Most bins of numbers that are not missing.
    least_share : float
        Share of the weight that makes a text frequent.

    Attributes
    ----------
    codes : (n_rows,)
        Bin of each row.
    shares : (n_bins,)
        Share of the weight in each bin; 0 for that of other texts, of which nothing is told.
    """

    def __init__(self, column: Array, weights: Vector, bin_count: int, least_share: float) -> None:
        self._edges, self._numbers = np.zeros(0), None
        if column.dtype == object:
            self._numbers = _frequent(column, weights / weights.sum(), least_share)
        else:
            self._edges = _quantiles(column, weights, bin_count)
        self.count = len(self._edges) + 2 if self._numbers is None else len(self._numbers) + 1
        self.codes = self.place(column)
        self.shares: Vector = np.bincount(self.codes, weights, self.count) / weights.sum()
        if self._numbers is not None:
            self.shares[-1] = 0

    def place(self, values: Array) -> Indices:
        """Return the bin of each value: (n,)."""
        if self._numbers is not None:
            other = self.count - 1
            return np.array([self._numbers.get(text, other) for text in _texts(values)], np.intp)
        places = np.searchsorted(self._edges, values)
        return np.where(np.isnan(values), self.count - 1, places)


def _texts(column: Array) -> list[str]:
    """Return texts; None and empty text are both missing."""
    return [str(text or "") for text in column.tolist()]


def _frequent(column: Array, shares: Vector, least_share: float) -> dict[str, int]:
    """Number the texts that have so much of the weight, in the order of their first rows."""
    held: dict[str, float] = {}
    for text, share in zip(_texts(column), shares.tolist(), strict=True):
        held[text] = held.get(text, 0.0) + share
    frequent = [text for text, share in held.items() if share >= least_share]
    return {text: number for number, text in enumerate(frequent)}


def _quantiles(column: Array, weights: Vector, bin_count: int) -> Vector:
    """Return the values that end bins, but for the last one: `bin_count` - 1 at most."""
    known = len(column) - int(np.count_nonzero(np.isnan(column)))  # missing values are last
    if known == 0:
        return np.zeros(0)
    if (weights == weights[0]).all():
        ordered, ends = np.sort(column)[:known], np.arange(1.0, known + 1)
    else:
        order = np.argsort(column)[:known]
        ordered, ends = column[order], np.cumsum(weights[order])
    # Less than a rounding error of the sum, so that a tenth of equal weights ends at its row.
    wanted = ends[-1] * (np.arange(1, bin_count) / bin_count - 1e-12)
    edges: Vector = np.unique(ordered[np.searchsorted(ends, wanted)])
    return edges
