"""Leaves as boxes: the features on each leaf's path, and the set of cells each must be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.trees.counting.leaf_conditions import leaf_conditions
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The conditions of leaves, one per leaf and feature; those that are always met left out.

    Attributes
    ----------
    start : (n_leaves + 1,)
        Leaf l has the conditions start[l] to start[l + 1], the deepest node's first.
    feature : (n_conditions,)
    met : CellSets
        Cells in which each condition is met.
    leaf : (n_conditions,)
        Leaf of each condition.
    values : (n_leaves, n_targets)
        Of the leaves; 0 for a leaf that contradicts itself, which has no conditions.
    by_feature, feature_start : (n_conditions,), (n_features + 1,)
        Conditions sorted by feature, and where each feature's start.
    """

    start: Int32Array
    feature: Int32Array
    met: CellSets
    leaf: Int32Array
    values: Matrix
    by_feature: Int32Array
    feature_start: Int32Array

    def holders(self, features: Sequence[int]) -> tuple[Int32Array, Int32Array]:
        """Find the leaves that have conditions on all of some features.

        Returns
        -------
        leaves : (n_holders,)
            Ascending.
        conditions : (n_holders, n_features)
            The conditions on these features, in their order.
        """
        lists = [
            self.by_feature[self.feature_start[j] : self.feature_start[j + 1]] for j in features
        ]
        leaves, held = self.leaf[lists[0]], lists[0][:, np.newaxis]
        for conditions in lists[1:]:
            mine, theirs = _common(leaves, self.leaf[conditions])
            leaves = leaves[mine]
            held = np.column_stack([held[mine], conditions[theirs]])
        return leaves, np.ascontiguousarray(held)


def leaf_boxes(ensemble: Ensemble, pool: BlockPool) -> Boxes:
    """Intersect what the nodes on each leaf's path demand."""
    found = leaf_conditions(ensemble, pool)
    values = np.where(found.contradicts[:, np.newaxis], 0.0, ensemble.values)
    leaf = np.repeat(np.arange(len(values), dtype=np.int32), np.diff(found.start))
    by_feature, feature_start = _sort(found.feature, len(ensemble.axes))
    return Boxes(found.start, found.feature, found.met, leaf, values, by_feature, feature_start)


@kernel
def _sort(keys: Int32Array, count: int) -> tuple[Int32Array, Int32Array]:
    """Sort positions by small keys, equal ones in order: positions, and where each key starts."""
    start = np.zeros(count + 1, np.int32)
    for key in keys:
        start[key + 1] += 1
    for key in range(count):
        start[key + 1] += start[key]
    place, order = start[:-1].copy(), np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        order[place[keys[i]]] = i
        place[keys[i]] += 1
    return order, start


@kernel
def _common(left: Int32Array, right: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Find where two ascending lists are equal: positions in each."""
    most = min(len(left), len(right))
    mine, theirs = np.empty(most, np.int32), np.empty(most, np.int32)
    i = k = made = 0
    while i < len(left) and k < len(right):
        if left[i] == right[k]:
            mine[made], theirs[made] = i, k
            made += 1
        if left[i] <= right[k]:
            i += 1
        else:
            k += 1
    return mine[:made], theirs[:made]
