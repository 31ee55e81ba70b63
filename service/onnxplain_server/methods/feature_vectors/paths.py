"""Decision paths of trees: which column each split looks at, from roots to leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.trees.reading.ensemble import Ensemble

Counts = npt.NDArray[np.int64]
"""(n,)"""


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Trees as far as paths go: thresholds and directions are left out.

    Attributes
    ----------
    feature : (n_nodes,) int32
        Feature that a split looks at; -1 at leaves, and where a split counts for no feature.
    parent : (n_nodes,) int32
        -1 at roots.
    leaf : (n_leaves,)
        Nodes at which paths end.
    tree : (n_leaves,)
        Number of the tree that each leaf is in, from 0.
    feature_count, tree_count : int
    """

    feature: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    leaf: Indices
    tree: Indices
    feature_count: int
    tree_count: int

    def __len__(self) -> int:
        """Count the paths."""
        return len(self.leaf)

    def split_counts(self) -> Counts:
        """Count the splits on each path, those for no feature included: (n_paths,)."""
        counts = np.zeros(len(self), dtype=np.int64)
        node = self.parent[self.leaf]
        while (inside := node >= 0).any():
            counts += inside
            node = np.where(inside, self.parent[node], -1)
        return counts

    def of_features(self, chosen: Indices) -> Paths:
        """Count splits for some features only, which are numbered anew; windows stay."""
        number = np.full(self.feature_count + 1, -1, dtype=np.int32)
        number[chosen] = np.arange(len(chosen))
        feature = number[self.feature]  # -1 is the last one
        return Paths(feature, self.parent, self.leaf, self.tree, len(chosen), self.tree_count)


def of_ensemble(ensemble: Ensemble) -> Paths:
    """Take the paths of a model's own trees."""
    leaf = ensemble.leaf.astype(np.intp)
    return Paths(
        ensemble.feature,
        ensemble.parent,
        leaf,
        np.searchsorted(ensemble.roots, leaf, side="right") - 1,
        len(ensemble.axes),
        len(ensemble.roots),
    )


def of_children(
    trees: Sequence[tuple[Array, Array, Array]], column_of: Indices, feature_count: int
) -> Paths:
    """Take the paths of trees that tell their children.

    Parameters
    ----------
    trees : sequence of (left, right, column), each (n_nodes,)
        Children are -1 at leaves.
    column_of : (n_columns,)
        Feature that each column was made from.
    """
    features, parents, leaves = [], [], []
    start = 0
    for left, right, column in trees:
        inner = np.flatnonzero(left >= 0)
        parent = np.full(len(left), -1, dtype=np.int32)
        parent[left[inner]] = parent[right[inner]] = inner + start
        feature = np.full(len(left), -1, dtype=np.int32)
        feature[inner] = column_of[column[inner]]
        features.append(feature)
        parents.append(parent)
        leaves.append(np.flatnonzero(left < 0) + start)
        start += len(left)
    return Paths(
        np.concatenate(features),
        np.concatenate(parents),
        np.concatenate(leaves),
        np.repeat(np.arange(len(trees)), [len(leaf) for leaf in leaves]),
        feature_count,
        len(trees),
    )


def of_sentences(sentences: Sequence[Sequence[int]], feature_count: int) -> Paths:
    """Take paths that are given one by one, each as the features on it, in order."""
    feature: list[int] = []
    parent: list[int] = []
    leaf: list[int] = []
    for sentence in sentences:
        parent += [-1, *range(len(feature), len(feature) + len(sentence))]
        feature += [*sentence, -1]
        leaf.append(len(feature) - 1)
    return Paths(
        np.array(feature, dtype=np.int32),
        np.array(parent, dtype=np.int32),
        np.array(leaf, dtype=np.intp),
        np.arange(len(leaf)),
        feature_count,
        len(leaf),
    )
