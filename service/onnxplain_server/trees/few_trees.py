"""Trees that test some features: moving these changes no other tree's sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Indices, Int32Matrix, Matrix
from onnxplain_server.trees.counting.ranked_rows import RankedRows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.descent import FEATURE, Descent, build_descent
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.ensemble import Ensemble

_MOST_SHARE = 0.5
"""Of all trees: up to this, it is faster to descend those that test a feature once more."""
_ROWS_AT_ONCE = 512
"""Rows of several permutations that descend together: one block."""


class TestedFeatures:
    """Features that each tree tests.

    Parameters
    ----------
    ensemble : Ensemble
    rows : RankedRows
    pool : BlockPool
    """

    def __init__(self, ensemble: Ensemble, rows: RankedRows, pool: BlockPool) -> None:
        self._ensemble = ensemble
        self._rows = rows
        self._pool = pool
        self._descent = build_descent(ensemble)
        inner = np.flatnonzero(ensemble.feature >= 0)
        tree = np.searchsorted(ensemble.roots, inner, side="right") - 1
        features, trees = np.unique(np.stack([ensemble.feature[inner], tree]), axis=1)
        self._trees_of = _split(features, trees, len(ensemble.axes))
        order = np.argsort(trees, kind="stable")
        self._features_of = _split(trees[order], features[order], len(ensemble.roots))

    def moved(self, features: Sequence[int]) -> MovedTrees | None:
        """Return the trees that test some features; None where these are most trees."""
        trees = _joined(self._trees_of, features)
        if len(trees) > _MOST_SHARE * len(self._ensemble.roots):
            return None
        tested = _joined(self._features_of, trees)
        place = dict(zip(tested.tolist(), range(len(tested)), strict=True))
        few = Descent(self._ensemble.roots[trees], self._nodes(trees, tested), self._descent.truth)
        moved = [place[j] for j in features if j in place]
        return MovedTrees(self._ensemble, few, self._rows.codes[tested], moved, self._pool)

    def _nodes(self, trees: Indices, tested: Indices) -> Int32Matrix:
        """Return nodes with features counted among those tested; only those of the trees count."""
        nodes = np.empty_like(self._descent.nodes)
        ends = np.append(self._ensemble.roots[1:], len(nodes))
        for tree in trees:
            span = slice(self._ensemble.roots[tree], ends[tree])
            nodes[span] = self._descent.nodes[span]
            own = nodes[span, FEATURE]
            nodes[span, FEATURE] = np.where(own < 0, own, np.searchsorted(tested, own))
        return nodes


def _split(keys: Indices, values: Indices, count: int) -> list[Indices]:
    """Split values by their ascending keys, from 0 to `count` - 1."""
    return np.split(values, np.searchsorted(keys, np.arange(1, count)))


def _joined(lists: Sequence[Indices], places: Sequence[int] | Indices) -> Indices:
    """Return the distinct values of some lists, ascending."""
    own = [lists[place] for place in places]
    return np.unique(np.concatenate(own)) if own else np.zeros(0, np.intp)


class MovedTrees:
    """Some trees, with rows of which features are moved.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of some trees, with features counted among those that these test.
    codes : (n_tested_features, n)
        Cells of the rows.
    moved : sequence of int
        Features moved, of those tested.
    pool : BlockPool
    """

    def __init__(
        self,
        ensemble: Ensemble,
        descent: Descent,
        codes: Int32Matrix,
        moved: Sequence[int],
        pool: BlockPool,
    ) -> None:
        self._ensemble = ensemble
        self._descent = descent
        self._codes = codes
        self._moved = moved
        self._pool = pool

    def changes(self, permutations: Sequence[Indices]) -> Iterator[Matrix]:
        """Yield by how much sums of leaves change if features are permuted: (n, n_targets)."""
        n = self._codes.shape[1]
        at_once = max(1, _ROWS_AT_ONCE // max(n, 1))
        for start in range(0, len(permutations), at_once):
            some = permutations[start : start + at_once]
            codes = np.tile(self._codes, len(some))
            codes[self._moved] = self._codes[self._moved][:, np.concatenate(some)]
            for sums in np.split(self._sums(codes), len(some)):
                yield sums - self._own

    @cached_property
    def _own(self) -> Matrix:
        return self._sums(self._codes)

    def _sums(self, codes: Int32Matrix) -> Matrix:
        if not len(self._descent.roots):
            return np.zeros((codes.shape[1], self._ensemble.values.shape[1]))
        return sum_leaves(self._ensemble, codes, self._pool, descent=self._descent)
