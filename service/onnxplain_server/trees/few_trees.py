"""Trees that test some features: moving these changes no other tree's sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Cube, Indices
from onnxplain_server.trees.counting.ranked_rows import RankedRows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.descent import Descent
from onnxplain_server.trees.kernels.summing import sum_changes
from onnxplain_server.trees.reading.ensemble import Ensemble

_MOST_SHARE = 0.5
"""Of all trees: up to this, it is faster to descend those that test a feature once more."""


class TestedFeatures:
    """Features that each tree tests.

    Parameters
    ----------
    ensemble : Ensemble
    descent : Descent
        Of the ensemble.
    rows : RankedRows
    pool : BlockPool
    """

    def __init__(
        self, ensemble: Ensemble, descent: Descent, rows: RankedRows, pool: BlockPool
    ) -> None:
        self._ensemble = ensemble
        self._descent = descent
        self._rows = rows
        self._pool = pool
        inner = np.flatnonzero(ensemble.feature >= 0)
        tree = np.searchsorted(ensemble.roots, inner, side="right") - 1
        features, trees = np.unique(np.stack([ensemble.feature[inner], tree]), axis=1)
        starts = np.searchsorted(features, np.arange(1, len(ensemble.axes)))
        self._trees_of = np.split(trees, starts)

    def changes(self, features: Sequence[int], orders: Sequence[Indices]) -> Cube | None:
        """Return by how much sums of leaves change if features are permuted between rows.

        Parameters
        ----------
        features : sequence of int
        orders : sequence of (n,)
            Row that each row gets their values from.

        Returns
        -------
        (n_orders, n, n_targets) or None
            None where most trees test one of the features.
        """
        trees = np.unique(np.concatenate([self._trees_of[j] for j in features]))
        if len(trees) > _MOST_SHARE * len(self._ensemble.roots):
            return None
        moved = np.zeros(len(self._trees_of), np.bool_)
        moved[list(features)] = True
        return sum_changes(
            self._ensemble,
            self._ensemble.roots[trees],
            self._rows.codes,
            moved,
            np.array(orders, np.int32),
            self._pool,
            self._descent,
        )
