"""Attributes of the tree operators of ai.onnx.ml for a forest.

Those with a name are of TreeEnsembleRegressor and TreeEnsembleClassifier, those by index of
TreeEnsemble, which has sets of codes, but no base values, and one value for each leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from onnxplain_server.adapters.native.forest import ForestNodes, NativeForest
from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.trees.reading.nodes import Mode

_MODES = np.array([f"BRANCH_{mode.name}" for mode in list(Mode)[: Mode.LEAF]] + ["LEAF"])
_SUM = 1
"""Number of the aggregate function of TreeEnsemble."""


def named_trees(forest: NativeForest, leaves: str) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleRegressor or -Classifier (ai.onnx.ml 3).

    Parameters
    ----------
    leaves : str
        Prefix of the attributes with values of leaves: "target" or "class".
    """
    nodes, values = forest.nodes, forest.leaves
    tree, number = _numbers(nodes)
    numbers = {
        "nodes_values": np.where(nodes.modes == Mode.LEAF, 0.0, nodes.thresholds),
        f"{leaves}_weights": values.values,
        **({"base_values": forest.base} if forest.base.any() else {}),
    }
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_featureids": np.where(nodes.modes == Mode.LEAF, 0, nodes.features).tolist(),
        "nodes_modes": _MODES[nodes.modes].tolist(),
        "nodes_truenodeids": _local(nodes.true, number),
        "nodes_falsenodeids": _local(nodes.false, number),
        "nodes_missing_value_tracks_true": nodes.missing_is_true.astype(np.int64).tolist(),
        f"{leaves}_treeids": tree[values.nodes].tolist(),
        f"{leaves}_nodeids": number[values.nodes].tolist(),
        f"{leaves}_ids": values.targets.tolist(),
        **_typed(numbers, is_double=forest.is_double),
    }


def indexed_trees(forest: NativeForest) -> dict[str, Any]:
    """Return the attributes of a TreeEnsemble (ai.onnx.ml 5); `lone_leaves` are left out."""
    nodes, (origin, true, false, roots), target = forest.nodes, *_copies(forest)
    weights = _weights_of(forest, origin, target)
    leaf = nodes.modes[origin] == Mode.LEAF
    inner = np.flatnonzero(~leaf)
    place = np.where(leaf, np.cumsum(leaf), np.cumsum(~leaf)) - 1
    modes = nodes.modes[origin[inner]]
    dtype = np.float64 if forest.is_double else np.float32
    thresholds = np.where(modes == Mode.MEMBER, 0.0, nodes.thresholds[origin[inner]])
    return {
        "aggregate_function": _SUM,
        "n_targets": forest.target_count,
        "tree_roots": place[roots].tolist(),
        "nodes_featureids": nodes.features[origin[inner]].tolist(),
        "nodes_modes": _tensor(modes),
        "nodes_splits": _tensor(thresholds.astype(dtype)),
        "nodes_truenodeids": place[true[inner]].tolist(),
        "nodes_trueleafs": leaf[true[inner]].astype(np.int64).tolist(),
        "nodes_falsenodeids": place[false[inner]].tolist(),
        "nodes_falseleafs": leaf[false[inner]].astype(np.int64).tolist(),
        "nodes_missing_value_tracks_true": nodes.missing_is_true[origin[inner]]
        .astype(np.int64)
        .tolist(),
        **_sets(nodes, origin[inner][modes == Mode.MEMBER], dtype),
        "leaf_targetids": target[leaf].tolist(),
        "leaf_weights": _tensor(weights[leaf].astype(dtype)),
    }


def lone_leaves(forest: NativeForest) -> Vector:
    """Return the sum of the values of trees that are a leaf alone: (n_targets,)."""
    nodes, leaves = forest.nodes, forest.leaves
    alone = np.zeros(len(nodes.modes), dtype=bool)
    alone[nodes.roots] = nodes.modes[nodes.roots] == Mode.LEAF
    chosen = alone[leaves.nodes]
    sums = np.bincount(leaves.targets[chosen], leaves.values[chosen], forest.target_count)
    return sums.astype(np.float64)


def _copies(forest: NativeForest) -> tuple[tuple[Indices, Indices, Indices, Indices], Indices]:
    """Copy each tree with splits for each target that its leaves have values for.

    Returns
    -------
    origin, true, false, roots
        Node of the forest that each node of a copy comes from; children and roots in the copies.
    target : (n_copied_nodes,)
    """
    nodes, leaves = forest.nodes, forest.leaves
    tree = nodes.trees()
    count = forest.target_count
    pairs = np.unique(tree[leaves.nodes] * count + leaves.targets)
    pairs = pairs[nodes.modes[nodes.roots[pairs // count]] != Mode.LEAF]
    sizes = np.bincount(tree)[pairs // count]
    roots = np.cumsum(sizes) - sizes
    first = np.repeat(nodes.roots[pairs // count] - roots, sizes)
    origin = np.arange(sizes.sum()) + first
    true, false = (children[origin] - first for children in (nodes.true, nodes.false))
    return (origin, true, false, roots), np.repeat(pairs % count, sizes)


def _weights_of(forest: NativeForest, origin: Indices, target: Indices) -> Vector:
    """Return the value of each copied leaf for the target of its copy; 0 where it has none."""
    leaves, count = forest.leaves, forest.target_count
    keys = leaves.nodes * count + leaves.targets
    order = np.argsort(keys, kind="stable")
    wanted = origin * count + target
    found = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    weights: Vector = np.where(keys[order][found] == wanted, leaves.values[order][found], 0.0)
    return weights


def _sets(nodes: ForestNodes, members: Indices, dtype: type) -> dict[str, TensorProto]:
    """Return the codes of each node of mode MEMBER, each set ended by NaN; none without nodes."""
    parts = [np.append(nodes.members[int(node)], np.nan) for node in members]
    return {"membership_values": _tensor(np.concatenate(parts).astype(dtype))} if parts else {}


def _numbers(nodes: ForestNodes) -> tuple[Indices, Indices]:
    """Return the tree of each node and its number within the tree."""
    tree = nodes.trees()
    return tree, np.arange(len(nodes.modes)) - nodes.roots[tree]


def _local(children: Indices, number: Indices) -> list[int]:
    """Return children as numbers within their tree; 0 at leaves."""
    local: Array = np.where(children < 0, 0, number[children])
    return list(local.tolist())


def _typed(numbers: dict[str, Vector], *, is_double: bool) -> dict[str, Any]:
    """Return lists of float32, or tensors of float64 under the names that they have then."""
    if is_double:
        return {f"{name}_as_tensor": _tensor(values) for name, values in numbers.items()}
    return {name: values.tolist() for name, values in numbers.items()}


def _tensor(values: Array) -> TensorProto:
    return numpy_helper.from_array(np.ascontiguousarray(values))
