"""LightGBM's trees, joined to the nodes and leaves of a forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.faults import invalid
from onnxplain_server.adapters.native.forest import (
    Derivation,
    DerivedColumn,
    ForestLeaves,
    ForestNodes,
    shifted,
    tree_places,
)
from onnxplain_server.adapters.native.lightgbm.parts import MISSING_NAN, LightGBMTree
from onnxplain_server.adapters.native.lightgbm.splits import Splits, split
from onnxplain_server.core.arrays import Array, Flags, Indices, Vector
from onnxplain_server.trees.reading.nodes import Mode


class LightGBMTrees(NamedTuple):
    """Nodes and leaves of several trees, and the columns that they compare beside features."""

    nodes: ForestNodes
    leaves: ForestLeaves
    derived: tuple[DerivedColumn, ...]


class _Joined(NamedTuple):
    """Nodes of trees: splits, then leaves; each (n_nodes,).

    `derivations` are those of the columns that are compared; 0 for the feature's own.
    """

    modes: Array
    features: Indices
    derivations: Indices
    thresholds: Vector
    true: Indices
    false: Indices
    missing_is_true: Flags


def check(tree: LightGBMTree, number: int, feature_count: int) -> None:
    """Check decision types, features and children; the rest is for tidying.

    Raises
    ------
    ExplainError
        INVALID_MODEL for one that does not exist.
    """
    inner, leaf_count = len(tree.features), len(tree.values)
    for name, values, low, high in (
        ("feature", tree.features, 0, feature_count),
        ("child", tree.left, -leaf_count, inner),
        ("child", tree.right, -leaf_count, inner),
        ("decision type", tree.decisions, 0, (MISSING_NAN + 1) << 2),
    ):
        wrong = (values < low) | (values >= high)
        if wrong.any():
            node = int(np.argmax(wrong))
            raise invalid(
                f"The model's tree {number:,}, node {node:,}, has the {name} {values[node]}, "
                f"which is not in [{low}, {high})."
            )
    for node, codes in tree.members.items():
        if not len(codes):
            raise invalid(f"The model's tree {number:,}, node {node:,}, has no categories.")


# Long: most of it documents the parameters.
def join(
    trees: Sequence[LightGBMTree], target_count: int, has_codes: Flags, factor: float
) -> LightGBMTrees:
    """Join checked trees, of which tree i adds to target i modulo `target_count`.

    Parameters
    ----------
    has_codes : (n_features,) bool
        Features whose column is whole codes already.
    factor : float
        Of the values of leaves.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL where zeros need too many copies.
    """
    splits = [split(tree, i) for i, tree in enumerate(trees)]
    parts = [_nodes(*own, has_codes) for own in zip(trees, splits, strict=True)]
    roots, first = tree_places([len(part.modes) for part in parts])
    columns = zip(*parts, strict=True)
    joined = _Joined(*(np.concatenate(column) for column in columns)) if parts else _nothing()
    features, derived = _place_columns(joined, len(has_codes))
    nodes = ForestNodes(
        roots,
        joined.modes.astype(np.uint8),
        features,
        joined.thresholds,
        shifted(joined.true, first),
        shifted(joined.false, first),
        joined.missing_is_true,
        _members(trees, splits, roots),
    )
    owners = [np.full(len(own.leaves), i % target_count) for i, own in enumerate(splits)]
    values = [tree.values[own.leaves] for tree, own in zip(trees, splits, strict=True)]
    leaves = ForestLeaves(
        np.flatnonzero(nodes.modes == Mode.LEAF),
        np.concatenate([np.zeros(0, dtype=np.intp), *owners]),
        factor * np.concatenate([np.zeros(0), *values]),
    )
    return LightGBMTrees(nodes, leaves, derived)


def _nodes(tree: LightGBMTree, splits: Splits, has_codes: Flags) -> _Joined:
    """Return the nodes of one tree."""
    count, leaf_count = len(splits.origin), len(splits.leaves)
    features = tree.features[splits.origin]
    is_floor = (splits.modes == Mode.MEMBER) & ~has_codes[features]
    derivations = np.where(splits.is_zero_test, Derivation.NEAR_ZERO, Derivation.FLOOR * is_floor)
    none, zeros = np.full(leaf_count, -1), np.zeros(leaf_count)
    true, false = (np.where(to < 0, count + ~to, to) for to in (splits.true, splits.false))
    return _Joined(
        np.concatenate([splits.modes, np.full(leaf_count, Mode.LEAF)]),
        np.concatenate([features, none]),
        np.concatenate([derivations, zeros.astype(np.intp)]),
        np.concatenate([splits.thresholds, zeros]),
        np.concatenate([true, none]),
        np.concatenate([false, none]),
        np.concatenate([splits.missing_is_true, zeros > 0]),
    )


def _nothing() -> _Joined:
    none = np.zeros(0, dtype=np.intp)
    return _Joined(none, none, none, np.zeros(0), none, none, none > 0)


def _place_columns(part: _Joined, count: int) -> tuple[Indices, tuple[DerivedColumn, ...]]:
    """Return the positions of the columns that nodes compare, and the derived columns."""
    derived = np.flatnonzero(part.derivations)
    keys = part.derivations[derived] * count + part.features[derived]
    columns, places = np.unique(keys, return_inverse=True)
    features = part.features.copy()
    features[derived] = count + places
    pairs = (divmod(column, count) for column in columns.tolist())
    return features, tuple(DerivedColumn(Derivation(kind), feature) for kind, feature in pairs)


def _members(
    trees: Sequence[LightGBMTree], splits: Sequence[Splits], roots: Indices
) -> dict[int, Vector]:
    """Return the sets of codes, by node of the forest."""
    return {
        int(root) + int(place): tree.members[int(own.origin[place])]
        for tree, own, root in zip(trees, splits, roots, strict=True)
        if tree.members
        for place in np.flatnonzero(own.modes == Mode.MEMBER)
    }
