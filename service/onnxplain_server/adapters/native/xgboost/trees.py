"""XGBoost's trees: the lists of each tree, joined to the nodes and leaves of a forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxplain_server.adapters.native.faults import invalid
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import (
    ForestLeaves,
    ForestNodes,
    shifted,
    tree_places,
)
from onnxplain_server.adapters.native.xgboost.categories import read_sets
from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.trees.reading.nodes import Mode

Float32s = npt.NDArray[np.float32]
"""Any shape."""


class XGBoostTrees(NamedTuple):
    """Nodes and leaves of several trees."""

    nodes: ForestNodes
    leaves: ForestLeaves


class _XGBoostTree(NamedTuple):
    """Lists of one tree, each (n_nodes,), and its leaves.

    `left` is -1 at leaves. `leaves` and `values` are (n_leaves,) and (n_leaves, size), where `size`
    is 1, or the number of targets in trees with several outputs.
    """

    left: Indices
    right: Indices
    features: Indices
    conditions: Float32s
    default_left: Indices
    leaves: Indices
    values: Float32s
    sets: dict[int, Vector]


def read_trees(
    model: Fields, count: int, weights: Vector | None, target_count: int
) -> XGBoostTrees:
    """Read the first trees of a booster.

    Parameters
    ----------
    model : Fields
    count : int
        Number of trees to read.
    weights : (n_trees,) or None
        Factors of the trees' leaves.
    target_count : int
        Number of scores per row.

    Raises
    ------
    ExplainError
        INVALID_MODEL
    """
    groups = model.integers("tree_info")
    documents = model.items("trees")
    if not len(groups) == len(documents) >= count:
        raise invalid(
            f"The model has {len(documents):,} trees and {len(groups):,} values of tree_info for "
            f"{count:,} trees."
        )
    if weights is not None and len(weights) != len(documents):
        raise invalid(f"The model has {len(weights):,} weight_drop for {len(documents):,} trees.")
    path = model.path_of("trees")
    trees = [_read(Fields(documents[i], f"{path}[{i}]"), target_count) for i in range(count)]
    leaves = [
        _leaves(tree, group, np.float32(1 if weights is None else weights[i]))
        for i, (tree, group) in enumerate(zip(trees, groups.tolist(), strict=False))
    ]
    return _joined(trees, leaves)


def _read(tree: Fields, target_count: int) -> _XGBoostTree:
    parameters = tree.child("tree_param")
    count = parameters.integer("num_nodes", low=1)
    left, right = tree.integers("left_children", count), tree.integers("right_children", count)
    conditions = tree.numbers("split_conditions", count).astype(np.float32)
    leaves = np.flatnonzero(left < 0)
    size = parameters.integer("size_leaf_vector", 0)
    values = conditions[leaves, np.newaxis]
    if size > 1:
        if size != target_count:
            raise tree.fault("tree_param", f"has leaves of {size:,} values, not {target_count:,}")
        values = _vectors(tree, right, leaves, size)
    return _XGBoostTree(
        left,
        right,
        tree.integers("split_indices", count),
        conditions,
        tree.integers("default_left", count),
        leaves,
        values,
        read_sets(tree, count),
    )


def _vectors(tree: Fields, right: Indices, leaves: Indices, size: int) -> Float32s:
    """Return the values of leaves with several: (n_leaves, size).

    Since 3.2 they are a list of their own, in which a leaf's place stands as its right child;
    before, they are the weights of all nodes.
    """
    name, places = (
        ("leaf_weights", right[leaves])
        if "leaf_weights" in tree
        else (
            "base_weights",
            leaves,
        )
    )
    values = tree.numbers(name)
    if len(values) % size:
        raise tree.fault(name, f"has {len(values):,} values, {size:,} for each node")
    rows: Float32s = values.reshape(-1, size).astype(np.float32)
    if np.any((places < 0) | (places >= len(rows))):
        raise tree.fault(name, "has no values for some leaf")
    return rows[places]


def _leaves(tree: _XGBoostTree, group: int, weight: np.float32) -> ForestLeaves:
    """Return the values of a tree's leaves, with nodes numbered within the tree."""
    count, size = tree.values.shape
    targets = np.full(count, group) if size == 1 else np.tile(np.arange(size), count)
    values = (weight * tree.values).astype(np.float64)
    return ForestLeaves(np.repeat(tree.leaves, size), targets, values.ravel())


def _joined(trees: Sequence[_XGBoostTree], leaves: Sequence[ForestLeaves]) -> XGBoostTrees:
    """Join trees.

    A value is true where it is less, and goes left; a code is true where it is in the set, and
    goes right.
    """
    roots, first = tree_places([len(tree.left) for tree in trees])
    left, right, features, conditions, default_left = (
        _concatenated([getattr(tree, name) for tree in trees])
        for name in ("left", "right", "features", "conditions", "default_left")
    )
    leaf = left < 0
    sets = _sets(trees, roots)
    is_member = np.zeros(len(left), dtype=bool)
    is_member[list(sets)] = True
    left, right = shifted(left, first), shifted(np.where(leaf, -1, right), first)
    nodes = ForestNodes(
        roots,
        np.select([leaf, is_member], [Mode.LEAF, Mode.MEMBER], Mode.LT).astype(np.uint8),
        features,
        np.where(leaf | is_member, 0, conditions).astype(np.float64),
        np.where(is_member, right, left),
        np.where(is_member, left, right),
        ((default_left != 0) ^ is_member) & ~leaf,
        sets,
    )
    owners = [own.nodes + root for own, root in zip(leaves, roots, strict=True)]
    return XGBoostTrees(
        nodes,
        ForestLeaves(
            _concatenated(owners),
            _concatenated([own.targets for own in leaves]),
            _concatenated([own.values for own in leaves]),
        ),
    )


def _sets(trees: Sequence[_XGBoostTree], roots: Indices) -> dict[int, Vector]:
    """Return the codes of inner nodes, by their positions in all trees."""
    return {
        int(root) + node: codes
        for root, tree in zip(roots, trees, strict=True)
        for node, codes in tree.sets.items()
        if tree.left[node] >= 0
    }


def _concatenated(lists: Sequence[Array]) -> Array:
    return np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
