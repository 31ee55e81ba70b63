"""Share of hybrid rows outside the table's support, told by pairs of features.

A hybrid row has some values of a grid point and all others of a row. It lies outside where one of
its pairs of values, one of them at least from the point, is lacking: where rows hold this pair of
bins less than a tenth as often as they would if both features were independent. This is the ratio
of densities by which Hooker (2004) tells extrapolation, taken for pairs of features in bins of
ranks. "Diagnosing Extrapolation: Tree-Based Density Estimation", KDD 2004, 569-574,
doi:10.1145/1014052.1014121.

Pairs of values that the table has say nothing of triples. A bin is as wide as a tenth of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.effects.background import combine
from onnxplain_server.effects.support.rank_bins import RankBins

_MOST_BINS = 10
"""Bins of a feature of numbers, where there are rows enough."""
_LACKING = 0.1
"""Rows of a pair of bins that lacks, as a share of those that independent features would have."""
_LEAST_EXPECTED = 10.0
"""Rows that independent features would have in a pair of bins that can be told to lack: with 10,
chance leaves one in 20,000 of them empty."""
_AT_ONCE = 64
"""Combinations of bins that are looked up at once: one bit of a word for each."""


class HybridSource(NamedTuple):
    """Rows that points are combined with.

    Attributes
    ----------
    codes : one (n_rows,) array per feature
        Bins of their values.
    shares : (n_rows,)
        Of the weight.
    """

    codes: tuple[Indices, ...]
    shares: Vector


class Outside(NamedTuple):
    """Hybrid rows outside the support.

    Attributes
    ----------
    shares : (n_points,)
        At each point, of the weight.
    by_partner : (n_features, n_points)
        The same by a feature that is not moved alone: 0 for those moved.
    """

    shares: Vector
    by_partner: Array


class PairSupport:
    """Support of a table, from some of its rows.

    Parameters
    ----------
    columns : one (n_rows,) array per feature
        float64, or texts.
    weights : (n_rows,)
        Positive.
    ignored : collection of int
        Features that predictions do not depend on.
    """

    def __init__(
        self, columns: Sequence[Array], weights: Vector, ignored: Collection[int] = ()
    ) -> None:
        scaled = weights / weights.max()
        self._count = float(scaled.sum() ** 2 / (scaled @ scaled))  # rows of equal weight
        self._bin_count = min(_MOST_BINS, math.isqrt(int(self._count / _LEAST_EXPECTED)))
        self._columns, self._weights = columns, scaled
        self._are_even = bool((scaled == 1).all())
        without = set(ignored)
        self._features = {j: None for j in range(len(columns)) if j not in without}
        self._lacking: dict[tuple[int, int], Array | None] = {}

    @property
    def is_known(self) -> bool:
        """Return whether there are rows enough to tell: 40 of equal weight."""
        return self._bin_count > 1

    @cached_property
    def _bins(self) -> tuple[RankBins, ...]:
        least_share = _LEAST_EXPECTED / self._count
        return tuple(
            RankBins(column, self._weights, self._bin_count, least_share)
            for column in self._columns
        )

    @cached_property
    def own_rows(self) -> HybridSource:
        """The rows of the table themselves."""
        codes = tuple(bins.codes for bins in self._bins)
        return HybridSource(codes, self._weights / self._weights.sum())

    def source(self, columns: Sequence[Array], weights: Vector) -> HybridSource:
        """Take other rows as those that points are combined with."""
        codes = tuple(bins.place(column) for bins, column in zip(self._bins, columns, strict=True))
        return HybridSource(codes, weights / weights.sum())

    def outside(
        self, features: Sequence[int], points: Sequence[Array], source: HybridSource
    ) -> Outside:
        """Measure the share of hybrid rows outside at each point.

        Parameters
        ----------
        features : sequence of int
            Features moved.
        points : one (n_points,) array per feature
            As the columns; values that no row has are those of the nearest bin.
        """
        codes = [self._bins[j].place(values) for j, values in zip(features, points, strict=True)]
        first, inverse = combine(codes)  # points in the same bins are alike
        cells = [own[first] for own in codes]
        shares = np.zeros(len(first))
        by_partner = np.zeros((len(self._columns), len(first)))
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            own = [each[part] for each in cells]
            shares[part], by_partner[:, part] = self._cells(features, own, source)
        return Outside(shares[inverse], by_partner[:, inverse])

    def _cells(
        self, features: Sequence[int], cells: Sequence[Indices], source: HybridSource
    ) -> tuple[Vector, Array]:
        """Measure the shares at combinations of bins: (n_cells,) and (n_features, n_cells)."""
        count = len(cells[0])
        is_lacking = np.zeros(count, bool)
        lacking_cells = np.zeros(len(source.shares), np.uint64)  # one bit for each cell
        bits = np.uint64(1) << np.arange(count, dtype=np.uint64)
        by_partner = np.zeros((len(self._columns), count))
        for place, (j, own) in enumerate(zip(features, cells, strict=True)):
            for k, other in zip(features[:place], cells[:place], strict=True):
                table = self._lacks(j, k)
                if table is not None:
                    is_lacking |= table[own, other]
        for k in (k for k in self._features if k not in features):
            tables = [(self._lacks(j, k), own) for j, own in zip(features, cells, strict=True)]
            lacking = [table[own] for table, own in tables if table is not None]
            if lacking:
                lacks = np.logical_or.reduce(lacking)  # (n_cells, bins of the other feature)
                held = np.bincount(source.codes[k], source.shares, self._bins[k].count)
                by_partner[k] = lacks @ held
                lacking_cells |= (bits @ lacks)[source.codes[k]]
        shares = [_sum_where(lacking_cells & bit != 0, source.shares) for bit in bits]
        return np.where(is_lacking, 1.0, shares), by_partner

    def _lacks(self, first: int, second: int) -> Array | None:
        """Return which pairs of bins lack: (n_first, n_second); None where none does."""
        if first not in self._features or second not in self._features:
            return None
        key = min(first, second), max(first, second)
        if key not in self._lacking:
            self._lacking[key] = self._count_pairs(*key)
        table = self._lacking[key]
        if table is None:
            return None
        return table if first < second else table.T

    def _count_pairs(self, first: int, second: int) -> Array | None:
        one, other = self._bins[first], self._bins[second]
        joined = one.codes * other.count + other.codes
        size = one.count * other.count
        weights = None if self._are_even else self._weights
        held = np.bincount(joined, weights, size).reshape(one.count, -1)
        even = np.outer(one.shares, other.shares)
        lacks = (even * self._count >= _LEAST_EXPECTED) & (
            held < _LACKING * even * self._weights.sum()
        )
        return lacks if lacks.any() else None


def _sum_where(is_outside: Array, shares: Vector) -> float:
    """Sum the shares of some rows; that of all rows is 1, without the rounding of a sum."""
    return 1.0 if is_outside.all() else min(float(is_outside @ shares), 1.0)
