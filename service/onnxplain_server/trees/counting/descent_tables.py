r"""Descent tables: effects at the rows, summed as rows descend the trees; no leaf is stored.

The rows descend with one or two features free, and each path narrows the runs of points that
these may have. With its runs b_j and b_k, a leaf of value v adds to the pure effect of both

    v (C[F minus jk] b_j(x) b_k(x) - C[F minus j] b_j(x) - C[F minus k] b_k(x) + C[F])

and to that of one v (C[F minus j] b_j(x) - C[F]), by tables of differences in constant time.
For few rows in very many leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Flags, Matrix
from onnxplain_server.trees.counting.descent_table_kernels import FreeAxis, descend_one, descend_two
from onnxplain_server.trees.counting.ranked_rows import RankedRows
from onnxplain_server.trees.kernels.descent import FEATURE, LOW, MANY, SPAN, Descent
from onnxplain_server.trees.reading.ensemble import Ensemble

_MAX_CELLS = 1 << 19
"""Cells of a table: 4 MiB per target, so that it stays near the processor."""


class DescentTables:
    """Sums effects of one feature or two at the rows, in the calling thread.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    ranked : RankedRows
    has_ends : (n_features,)
        By `find_ends`.
    """

    def __init__(
        self, ensemble: Ensemble, descent: Descent, ranked: RankedRows, has_ends: Flags
    ) -> None:
        self._ensemble = ensemble
        self._descent = descent
        self._ranked = ranked
        self._has_ends = has_ends
        self._axes: dict[int, FreeAxis] = {}

    def fits(self, features: Sequence[int]) -> bool:
        """Return whether tables serve for a group of features.

        They do for one or two, if each node splits them into two runs, and two have few values.
        """
        if len(features) > 2 or not self._has_ends[list(features)].all():
            return False
        return len(features) == 1 or self._cell_count(features) <= _MAX_CELLS

    def _cell_count(self, features: Sequence[int]) -> int:
        return math.prod(self._axis(j).size + 1 for j in features)

    def single(self, feature: int) -> tuple[Matrix, Matrix]:
        r"""Compute the pure effect of a feature and F_\j: (n, n_targets) each."""
        axis, values, codes = self._axis(feature), self._ensemble.values, self._ranked.codes
        own = np.zeros((axis.size + 1, values.shape[1]))
        mean, others = np.zeros(values.shape[1]), np.zeros((codes.shape[1], values.shape[1]))
        shares = self._ranked.shares
        below = np.append(0.0, np.cumsum(np.bincount(axis.point, shares, axis.size)))
        depth = self._ensemble.depth
        descend_one(depth, self._descent, axis, below, values, codes, shares, own, others, mean)
        pure: Matrix = np.cumsum(own, axis=0)[axis.point] - mean
        return pure, others

    def pair(self, pair: tuple[int, int]) -> Matrix:
        """Compute the pure effect of two features: (n, n_targets)."""
        one, two = (self._axis(j) for j in pair)
        values, targets = self._ensemble.values, self._ensemble.values.shape[1]
        both = np.zeros((one.size + 1, two.size + 1, targets))
        own = np.zeros((one.size + 1, targets)), np.zeros((two.size + 1, targets))
        mean = np.zeros(targets)
        codes, shares = self._ranked.codes, self._ranked.shares
        depth = self._ensemble.depth
        descend_two(depth, self._descent, one, two, values, codes, shares, both, *own, mean)
        pure: Matrix = np.cumsum(np.cumsum(both, axis=0), axis=1)[one.point, two.point] + mean
        for steps, axis in zip(own, (one, two), strict=True):
            pure -= np.cumsum(steps, axis=0)[axis.point]
        return pure

    def _axis(self, feature: int) -> FreeAxis:
        if feature not in self._axes:
            self._axes[feature] = self._make_axis(feature)
        return self._axes[feature]

    def _make_axis(self, feature: int) -> FreeAxis:
        first, last = (int(border) for border in self._ensemble.first[feature : feature + 2])
        own = self._ranked.codes[feature] - first
        occupied = np.zeros(last - first, dtype=np.int32)
        occupied[own + 1] = 1
        place = np.cumsum(occupied, dtype=np.int32)
        return FreeAxis(feature, first, place, place[own], int(place[-1]))


def find_ends(ensemble: Ensemble, descent: Descent) -> Flags:
    """Return the features of which each node separates values at one end: (n_features,)."""
    nodes = descent.nodes[descent.nodes[:, FEATURE] >= 0]
    feature, low, span = nodes[:, FEATURE], nodes[:, LOW], nodes[:, SPAN]
    at_end = (low == ensemble.first[feature]) | (low + span == ensemble.first[feature + 1] - 1)
    has_ends = np.ones(len(ensemble.axes), dtype=np.bool_)
    has_ends[feature[(span == MANY) | ((span > 0) & ~at_end)]] = False
    return has_ends
