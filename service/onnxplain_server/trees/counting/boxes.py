"""Leaf boxes: one condition per leaf and feature on its path, as a set of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Flags, Indices, Int32Vector, Matrix
from onnxplain_server.trees.counting.leaf_conditions import leaf_conditions
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Conditions of leaves, one per leaf and feature, without those that are always met.

    Attributes
    ----------
    start : (n_leaves + 1,)
        Leaf l has the conditions start[l] to start[l + 1], that of the deepest node first.
    feature : (n_conditions,)
    met : CellSets
        Cells that meet each condition.
    leaf : (n_conditions,)
        Leaf of each condition.
    values : (n_leaves, n_targets)
        Leaf values; 0 for a leaf with contradictory conditions, which has none here.
    by_feature, feature_start : (n_conditions,), (n_features + 1,)
        Conditions sorted by feature, and the first of each feature.
    """

    start: Int32Array
    feature: Int32Array
    met: CellSets
    leaf: Int32Array
    values: Matrix
    by_feature: Int32Array
    feature_start: Int32Array

    def with_all(self, features: Sequence[int]) -> tuple[Int32Array, Int32Array]:
        """Find the leaves with conditions on all of some features.

        Returns
        -------
        leaves : (n_found,)
            Ascending.
        conditions : (n_found, n_features)
            The conditions on these features, in their order.
        """
        lists = [
            self.by_feature[self.feature_start[j] : self.feature_start[j + 1]] for j in features
        ]
        leaves, columns = self.leaf[lists[0]], lists[0][:, np.newaxis]
        for conditions in lists[1:]:
            left, right = _intersection(leaves, self.leaf[conditions])
            leaves = leaves[left]
            columns = np.column_stack([columns[left], conditions[right]])
        return leaves, np.ascontiguousarray(columns)

    def only(self, is_kept: Flags) -> Boxes:
        """Leave out conditions of all leaves: (n_conditions,)."""
        kept = np.flatnonzero(is_kept)
        start = np.append(0, np.cumsum(is_kept, dtype=np.int32))[self.start].astype(np.int32)
        feature = self.feature[kept]
        order = _counting_sort(feature, len(self.feature_start) - 1)
        return Boxes(start, feature, _sets_of(self.met, kept), self.leaf[kept], self.values, *order)

    def take(self, is_kept: Flags) -> Boxes:
        """Leave out leaves: (n_leaves,)."""
        few = self.only(is_kept[self.leaf])
        leaf = (np.cumsum(is_kept, dtype=np.int32) - 1).astype(np.int32)[few.leaf]
        counts = np.diff(few.start)[is_kept]
        start = np.append(0, np.cumsum(counts)).astype(np.int32)
        return replace(few, start=start, leaf=leaf, values=few.values[is_kept])


def leaf_boxes(ensemble: Ensemble, pool: BlockPool) -> Boxes:
    """Build the boxes of all leaves."""
    conditions = leaf_conditions(ensemble, pool)
    values = np.where(conditions.contradicts[:, np.newaxis], 0.0, ensemble.values)
    leaf = np.repeat(np.arange(len(values), dtype=np.int32), np.diff(conditions.start))
    by_feature, feature_start = _counting_sort(conditions.feature, len(ensemble.axes))
    start, feature, met = conditions.start, conditions.feature, conditions.met
    return Boxes(start, feature, met, leaf, values, by_feature, feature_start)


def _sets_of(cells: CellSets, chosen: Indices) -> CellSets:
    """Return some of many sets of cells, in their order."""
    counts = np.diff(cells.start)[chosen]
    start = np.append(0, np.cumsum(counts)).astype(np.int32)
    runs = np.arange(start[-1]) + np.repeat(cells.start[chosen] - start[:-1], counts)
    return CellSets(start, cells.low[runs], cells.high[runs])


@kernel
def _counting_sort(keys: Int32Vector, count: int) -> tuple[Int32Vector, Int32Vector]:
    """Sort positions by small keys, stably: positions, and the first of each key."""
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
def _intersection(left: Int32Vector, right: Int32Vector) -> tuple[Int32Vector, Int32Vector]:
    """Intersect two ascending lists: positions of the common values in each."""
    size = min(len(left), len(right))
    in_left, in_right = np.empty(size, np.int32), np.empty(size, np.int32)
    i = k = count = 0
    while i < len(left) and k < len(right):
        if left[i] == right[k]:
            in_left[count], in_right[count] = i, k
            count += 1
        if left[i] <= right[k]:
            i += 1
        else:
            k += 1
    return in_left[:count], in_right[:count]
