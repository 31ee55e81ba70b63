"""CatBoost's trees, symmetric and nested, joined to the nodes and leaves of a forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxplain_server.adapters.native.catboost.splits import CatBoostSplit, SplitReader
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import (
    ForestLeaves,
    ForestNodes,
    shifted,
    tree_places,
)
from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.trees.reading.nodes import Mode


class CatBoostTree(NamedTuple):
    """Tree with nodes numbered from its root.

    Attributes
    ----------
    splits : sequence of CatBoostSplit
    order : (n_nodes,)
        Position of each node's split; -1 at leaves.
    left, right : (n_nodes,)
        Children; -1 at leaves.
    values : (n_leaves, n_targets)
        In the order of the leaves among the nodes.
    """

    splits: Sequence[CatBoostSplit]
    order: Indices
    left: Indices
    right: Indices
    values: Matrix


def read_symmetric(tree: Fields, reader: SplitReader) -> CatBoostTree:
    """Read a tree that compares with the same split at all nodes of a level.

    The first split decides the lowest bit of a leaf's number, so the root has the last one.

    Raises
    ------
    ExplainError
        INVALID_MODEL, and those of `SplitReader.read`.
    """
    splits = [reader.read(split) for split in tree.children("splits")] if "splits" in tree else []
    values = tree.numbers("leaf_values")
    depth = len(splits)
    count = 1 << depth
    if not len(values) or len(values) % count:
        raise tree.fault("leaf_values", f"has {len(values):,} values for {depth:,} splits")
    inner = np.arange(count - 1)
    level = np.frexp(inner + 1.0)[1] - 1  # node i stands in level ⌊log₂(i + 1)⌋
    leaves = np.full(count, -1)
    return CatBoostTree(
        splits,
        np.concatenate([depth - 1 - level, leaves]),
        np.concatenate([2 * inner + 1, leaves]),
        np.concatenate([2 * inner + 2, leaves]),
        values.reshape(count, -1),
    )


def read_nested(tree: Fields, reader: SplitReader) -> CatBoostTree:
    """Read a tree whose nodes hold their children, without recursion.

    Raises
    ------
    ExplainError
        INVALID_MODEL, and those of `SplitReader.read`.
    """
    nodes, splits, values = [tree], list[CatBoostSplit](), list[Any]()
    order, left, right = list[int](), list[int](), list[int]()
    for node in nodes:  # which grows behind the node that is read
        if "value" in node:
            values.append(node.one_or_more("value"))
            places = (-1, -1, -1)
        else:
            places = (len(splits), len(nodes), len(nodes) + 1)
            splits.append(reader.read(node.child("split")))
            nodes += [node.child("left"), node.child("right")]
        for kept, place in zip((order, left, right), places, strict=True):
            kept.append(place)
    width = len(values[0])
    if any(len(own) != width for own in values):
        raise tree.fault("value", "has not the same length in all leaves")
    return CatBoostTree(splits, np.array(order), np.array(left), np.array(right), np.array(values))


def join(trees: Sequence[CatBoostTree], scale: float) -> tuple[ForestNodes, ForestLeaves]:
    """Join trees, and multiply the values of leaves."""
    sizes = [len(tree.order) for tree in trees]
    roots, first = tree_places(sizes)
    starts = np.cumsum([0, *(len(tree.splits) for tree in trees)])[:-1]
    order, left, right = (
        np.concatenate(lists)
        for lists in zip(*((tree.order, tree.left, tree.right) for tree in trees), strict=True)
    )
    leaf = order < 0
    # Leaves refer to a split that is added at the end.
    splits = [split for tree in trees for split in tree.splits]
    chosen = np.where(leaf, len(splits), order + np.repeat(starts, sizes))
    columns, modes, thresholds, true_is_right, missing_is_true = (
        np.array(values)[chosen]
        for values in zip(*splits, CatBoostSplit(0, Mode.LEAF, 0.0, False, False), strict=True)
    )
    left, right = shifted(left, first), shifted(right, first)
    nodes = ForestNodes(
        roots,
        modes.astype(np.uint8),
        columns,
        thresholds,
        np.where(true_is_right, right, left),
        np.where(true_is_right, left, right),
        missing_is_true,
    )
    with np.errstate(over="ignore", invalid="ignore"):  # what is no finite number is refused
        values = scale * np.concatenate([tree.values for tree in trees])
    count, width = values.shape
    owners = np.repeat(np.flatnonzero(leaf), width)
    return nodes, ForestLeaves(owners, np.tile(np.arange(width), count), values.ravel())
