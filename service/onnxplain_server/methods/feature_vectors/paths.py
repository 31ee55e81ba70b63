"""Decision paths of trees: the feature of each split, from roots to leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Counts, Indices, Int32Vector
from onnxplain_server.trees.reading.ensemble import Ensemble


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """Trees reduced to their paths, without thresholds and directions.

    Attributes
    ----------
    feature : (n_nodes,) int32
        Feature of a split; -1 for leaves, and for splits on features that are not counted.
    parent : (n_nodes,) int32
        Parent node; -1 for roots.
    leaf : (n_leaves,)
        Leaf nodes, one per path.
    tree : (n_leaves,)
        Index of the tree of each leaf, from 0.
    feature_count, tree_count : int
    """

    feature: Int32Vector
    parent: Int32Vector
    leaf: Indices
    tree: Indices
    feature_count: int
    tree_count: int

    def __len__(self) -> int:
        """Return the number of paths."""
        return len(self.leaf)

    def split_counts(self) -> Counts:
        """Count the splits on each path, uncounted features included: (n_paths,)."""
        counts = np.zeros(len(self), dtype=np.int64)
        node = self.parent[self.leaf]
        while (inside := node >= 0).any():
            counts += inside
            node = np.where(inside, self.parent[node], -1)
        return counts

    def of_features(self, chosen: Indices, numbers: Indices | None = None) -> Paths:
        """Restrict to some features; other splits stay in the windows.

        Parameters
        ----------
        chosen : (n,)
        numbers : (n,) or None
            What each counts as, from 0; features of the same number count as one. None: each
            counts singly.
        """
        numbers = np.arange(len(chosen)) if numbers is None else numbers
        number = np.full(self.feature_count + 1, -1, dtype=np.int32)
        number[chosen] = numbers
        feature = number[self.feature]  # -1 indexes the last entry, -1
        count = int(numbers.max()) + 1
        return Paths(feature, self.parent, self.leaf, self.tree, count, self.tree_count)


def of_ensemble(ensemble: Ensemble) -> Paths:
    """Return the paths of a model's own trees."""
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
    """Return the paths of trees given by their children.

    Parameters
    ----------
    trees : sequence of (left, right, column), each (n_nodes,)
        Children are -1 for leaves.
    column_of : (n_columns,)
        Feature of each column.
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
    """Return paths given as sequences of features."""
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
