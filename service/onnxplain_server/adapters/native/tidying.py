"""Tidy forests: only nodes that a row can reach, each reached once, and no deeper than allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, too_complex
from onnxplain_server.adapters.native.forest import (
    ForestLeaves,
    ForestNodes,
    NativeForest,
    shifted,
)
from onnxplain_server.core.arrays import Flags, Indices
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.trees.reading.nodes import Mode

_NOT_FINITE = "The model adds a value to its score that is no finite number."


def tidy(forest: NativeForest, limits: ModelLimits) -> NativeForest:
    """Check a forest as a reader gave it, and drop nodes that no row reaches.

    Raises
    ------
    ExplainError
        INVALID_MODEL where children, features, thresholds or values are not what a tree has;
        MODEL_TOO_COMPLEX beyond a limit.
    """
    if forest.target_count > limits.target_count:
        raise too_complex(forest.target_count, limits.target_count, "columns in a tree ensemble")
    if not np.isfinite(forest.base).all():
        raise invalid(_NOT_FINITE)
    if forest.is_double and np.all(forest.nodes.modes == Mode.LEAF):
        forest = _with_split(forest)
    nodes = forest.nodes
    if not len(nodes.roots):
        return _with_all_targets(forest)
    inner = nodes.modes != Mode.LEAF
    _check_children(nodes, inner)
    reached = _reached(nodes, inner, limits.tree_depth)
    _check_splits(forest, inner & reached)
    _check_values(forest, reached & ~inner)
    return _with_all_targets(forest if reached.all() else _kept(forest, reached))


def _with_all_targets(forest: NativeForest) -> NativeForest:
    """Add a leaf of 0 for each target without a value, to which a base value would not be added."""
    targets = np.setdiff1d(np.arange(forest.target_count), forest.leaves.targets)
    count = len(targets)
    zeros, none, places = np.zeros(count), np.full(count, -1), np.arange(count)
    modes = np.full(count, Mode.LEAF, dtype=np.uint8)
    nodes = ForestNodes(places, modes, none, zeros, none, none, zeros != 0)
    return _appended(forest, nodes, ForestLeaves(places, targets, zeros)) if count else forest


def _with_split(forest: NativeForest) -> NativeForest:
    """Add a tree with a split and leaves of 0, because operators on float64 need one."""
    nodes = ForestNodes(
        roots=np.array([0]),
        modes=np.array([Mode.LEQ, Mode.LEAF, Mode.LEAF], dtype=np.uint8),
        features=np.zeros(3, dtype=np.intp),
        thresholds=np.zeros(3),
        true=np.array([1, -1, -1]),
        false=np.array([2, -1, -1]),
        missing_is_true=np.zeros(3, dtype=bool),
    )
    leaves = ForestLeaves(np.array([1, 2]), np.zeros(2, dtype=np.intp), np.zeros(2))
    return _appended(forest, nodes, leaves)


def _appended(forest: NativeForest, nodes: ForestNodes, leaves: ForestLeaves) -> NativeForest:
    """Add trees without sets of codes, whose nodes are numbered from 0."""
    own, values = forest.nodes, forest.leaves
    first = len(own.modes)
    return replace(
        forest,
        nodes=ForestNodes(
            np.append(own.roots, first + nodes.roots),
            np.append(own.modes, nodes.modes),
            np.append(own.features, nodes.features),
            np.append(own.thresholds, nodes.thresholds),
            np.append(own.true, shifted(nodes.true, first)),
            np.append(own.false, shifted(nodes.false, first)),
            np.append(own.missing_is_true, nodes.missing_is_true),
            own.members,
        ),
        leaves=ForestLeaves(
            np.append(values.nodes, first + leaves.nodes),
            np.append(values.targets, leaves.targets),
            np.append(values.values, leaves.values),
        ),
    )


def _check_children(nodes: ForestNodes, inner: Flags) -> None:
    """Check that children lie in the tree of their parent, behind its root."""
    ends = np.append(nodes.roots[1:], len(nodes.modes))
    if nodes.roots[0] != 0 or np.any(ends <= nodes.roots):
        raise invalid("The model has a tree without nodes.")
    tree = nodes.trees()
    for children in (nodes.true, nodes.false):
        wrong = inner & ((children <= nodes.roots[tree]) | (children >= ends[tree]))
        if wrong.any():
            node = int(np.argmax(wrong))
            place = _place(nodes, node)
            raise invalid(f"The model's {place} has a child that its tree does not have.")


def _reached(nodes: ForestNodes, inner: Flags, depth_limit: int) -> Flags:
    """Find the nodes that are reached from the roots, level by level."""
    reached = np.zeros(len(nodes.modes), dtype=bool)
    level: Indices = nodes.roots
    depth = 0
    while len(level):
        depth += 1
        if depth > depth_limit:
            raise too_complex(depth, depth_limit, "levels in a tree")
        reached[level] = True
        parents = level[inner[level]]
        level = np.concatenate([nodes.true[parents], nodes.false[parents]])
        if reached[level].any() or len(np.unique(level)) < len(level):
            # The next level may not hold a node twice, or one that was there before.
            order = np.sort(level)
            twice = order[1:][order[1:] == order[:-1]]
            node = int(twice[0] if len(twice) else level[reached[level]][0])
            raise invalid(f"The model's {_place(nodes, node)} is a child of two nodes.")
    return reached


def _check_splits(forest: NativeForest, inner: Flags) -> None:
    nodes = forest.nodes
    count = len(forest.features) + len(forest.derived)
    wrong = inner & ((nodes.features < 0) | (nodes.features >= count))
    if wrong.any():
        node = int(np.argmax(wrong))
        raise invalid(
            f"The model's {_place(nodes, node)} compares feature {nodes.features[node]}, and "
            f"there are {len(forest.features):,}."
        )
    wrong = inner & (nodes.modes != Mode.MEMBER) & np.isnan(nodes.thresholds)
    if wrong.any():
        raise invalid(f"The model's {_place(nodes, int(np.argmax(wrong)))} compares with NaN.")


def _check_values(forest: NativeForest, leaf: Flags) -> None:
    leaves = forest.leaves
    used = leaf[leaves.nodes]
    if not np.isfinite(leaves.values[used]).all():
        raise invalid(_NOT_FINITE)
    targets = leaves.targets
    if np.any((targets < 0) | (targets >= forest.target_count)):
        raise invalid(
            f"The model has a leaf for output {targets.max():,} of {forest.target_count:,}."
        )


def _kept(forest: NativeForest, kept: Flags) -> NativeForest:
    """Return a forest with only these nodes."""
    nodes, leaves = forest.nodes, forest.leaves
    place = np.where(kept, np.cumsum(kept) - 1, -1)
    valued = kept[leaves.nodes]
    return replace(
        forest,
        nodes=ForestNodes(
            place[nodes.roots],
            nodes.modes[kept],
            nodes.features[kept],
            nodes.thresholds[kept],
            _moved(nodes.true[kept], place),
            _moved(nodes.false[kept], place),
            nodes.missing_is_true[kept],
            {int(place[node]): codes for node, codes in nodes.members.items() if kept[node]},
        ),
        leaves=ForestLeaves(
            place[leaves.nodes[valued]], leaves.targets[valued], leaves.values[valued]
        ),
    )


def _moved(children: Indices, place: Indices) -> Indices:
    moved: Indices = np.where(children < 0, -1, place[children])
    return moved


def _place(nodes: ForestNodes, node: int) -> str:
    tree = int(np.searchsorted(nodes.roots, node, side="right")) - 1
    return f"tree {tree}, node {node - int(nodes.roots[tree])},"
