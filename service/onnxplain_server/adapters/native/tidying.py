"""Tidy forests: only nodes that a row can reach, each reached once, and no deeper than allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, too_complex
from onnxplain_server.adapters.native.forest import ForestLeaves, ForestNodes, NativeForest
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
    nodes, leaves = forest.nodes, forest.leaves
    targets = np.setdiff1d(np.arange(forest.target_count), leaves.targets)
    count = len(targets)
    if not count:
        return forest
    added = len(nodes.modes) + np.arange(count)
    zeros, none = np.zeros(count), np.full(count, -1)
    return replace(
        forest,
        nodes=ForestNodes(
            np.append(nodes.roots, added),
            np.append(nodes.modes, np.full(count, Mode.LEAF, dtype=np.uint8)),
            np.append(nodes.features, none),
            np.append(nodes.thresholds, zeros),
            np.append(nodes.true, none),
            np.append(nodes.false, none),
            np.append(nodes.missing_is_true, zeros != 0),
            nodes.members,
        ),
        leaves=ForestLeaves(
            np.append(leaves.nodes, added),
            np.append(leaves.targets, targets),
            np.append(leaves.values, zeros),
        ),
    )


def _with_split(forest: NativeForest) -> NativeForest:
    """Add a tree with a split and leaves of 0, because operators on float64 need one."""
    nodes, leaves = forest.nodes, forest.leaves
    first = len(nodes.modes)
    return replace(
        forest,
        nodes=ForestNodes(
            np.append(nodes.roots, first),
            np.append(nodes.modes, np.array([Mode.LEQ, Mode.LEAF, Mode.LEAF], dtype=np.uint8)),
            np.append(nodes.features, [0, 0, 0]),
            np.append(nodes.thresholds, [0.0, 0.0, 0.0]),
            np.append(nodes.true, [first + 1, -1, -1]),
            np.append(nodes.false, [first + 2, -1, -1]),
            np.append(nodes.missing_is_true, [False, False, False]),
        ),
        leaves=ForestLeaves(
            np.append(leaves.nodes, [first + 1, first + 2]),
            np.append(leaves.targets, [0, 0]),
            np.append(leaves.values, [0.0, 0.0]),
        ),
    )


def _check_children(nodes: ForestNodes, inner: Flags) -> None:
    """Check that children lie in the tree of their parent, behind its root."""
    count = len(nodes.modes)
    ends = np.append(nodes.roots[1:], count)
    sizes = ends - nodes.roots
    if nodes.roots[0] != 0 or np.any(sizes < 1):
        raise invalid("The model has a tree without nodes.")
    tree = np.repeat(np.arange(len(sizes)), sizes)
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
