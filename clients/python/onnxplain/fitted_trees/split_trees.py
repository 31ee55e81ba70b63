"""Trees with numeric and categorical splits, as the attributes of ONNX's tree operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_LEQ, _MEMBER = 0, 6
"""Numbers of comparisons in TreeEnsemble of ai.onnx.ml 5."""
_SUM = 1


class SplitTree(NamedTuple):
    """Tree whose rows go left where a value is at most the threshold, or in a set of codes.

    Attributes
    ----------
    features, left, right : (n_nodes,)
        Feature that is compared, and children; any numbers at leaves.
    thresholds : (n_nodes,) float64
    missing_left : (n_nodes,) bool
    is_leaf : (n_nodes,) bool
    values : (n_nodes,) float64
        Of leaves; any number elsewhere.
    sets : dict of int to (n_codes,)
        Codes that go left, by node.
    target : int
        Output that the tree adds to.
    """

    features: Ids
    left: Ids
    right: Ids
    thresholds: Floats
    missing_left: Flags
    is_leaf: Flags
    values: Floats
    sets: dict[int, Floats]
    target: int


def float32_below(thresholds: Floats) -> Floats:
    """Return the largest float32 up to each threshold: values of float32 compare as before."""
    rounded = thresholds.astype(np.float32)
    is_above = rounded.astype(np.float64) > thresholds
    below = np.where(is_above, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    return below.astype(np.float64)


def named_attributes(
    trees: Sequence[SplitTree], target_count: int, *, is_double: bool
) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleRegressor, for trees without sets."""
    sizes = [len(tree.features) for tree in trees]
    tree_ids = np.repeat(np.arange(len(trees)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    leaf = np.concatenate([tree.is_leaf for tree in trees])
    targets = np.repeat([tree.target for tree in trees], sizes)

    def inner(values: Sequence[npt.NDArray[Any]]) -> list[Any]:
        joined = np.concatenate(values)
        return list(np.where(leaf, 0, joined).tolist())

    return {
        "n_targets": target_count,
        "nodes_treeids": tree_ids.tolist(),
        "nodes_nodeids": node_ids.tolist(),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_featureids": inner([tree.features for tree in trees]),
        **_numbers("nodes_values", inner([tree.thresholds for tree in trees]), is_double=is_double),
        "nodes_truenodeids": inner([tree.left for tree in trees]),
        "nodes_falsenodeids": inner([tree.right for tree in trees]),
        "nodes_missing_value_tracks_true": inner(
            [tree.missing_left.astype(np.int64) for tree in trees]
        ),
        "target_treeids": tree_ids[leaf].tolist(),
        "target_nodeids": node_ids[leaf].tolist(),
        "target_ids": targets[leaf].tolist(),
        **_numbers(
            "target_weights",
            np.concatenate([tree.values for tree in trees])[leaf].tolist(),
            is_double=is_double,
        ),
    }


def _numbers(name: str, values: list[float], *, is_double: bool) -> dict[str, Any]:
    """Return a list of float32, or a tensor of float64 under the name that it has then."""
    if is_double:
        return {f"{name}_as_tensor": _tensor(np.array(values), np.float64)}
    return {name: values}


class _Nodes(NamedTuple):
    """Nodes of several trees, one behind the other.

    Attributes
    ----------
    roots : (n_trees,)
        Positions in the nodes.
    left, right : (n_splits,)
        Positions of the children of nodes that are no leaves.
    leaf : (n_nodes,) bool
    place : (n_nodes,)
        Number among the splits, or among the leaves.
    sets : dict of int to (n_codes,)
        Codes that go left, by position.
    """

    roots: Ids
    left: Ids
    right: Ids
    leaf: Flags
    place: Ids
    sets: dict[int, Floats]


def _joined(trees: Sequence[SplitTree]) -> _Nodes:
    sizes = np.array([len(tree.features) for tree in trees])
    roots = np.cumsum(sizes) - sizes
    first = np.repeat(roots, sizes)
    leaf = np.concatenate([tree.is_leaf for tree in trees])
    left = np.concatenate([tree.left for tree in trees]) + first
    right = np.concatenate([tree.right for tree in trees]) + first
    sets = {
        root + node: codes
        for tree, root in zip(trees, roots.tolist(), strict=True)
        for node, codes in sorted(tree.sets.items())
    }
    place = np.where(leaf, np.cumsum(leaf), np.cumsum(~leaf)) - 1
    return _Nodes(roots, left[~leaf], right[~leaf], leaf, place, sets)


def indexed_attributes(trees: Sequence[SplitTree], target_count: int) -> dict[str, Any]:
    """Return the attributes of a TreeEnsemble of ai.onnx.ml 5, for trees with a split each.

    Numbers are float64.
    """
    roots, left, right, leaf, place, sets = _joined(trees)
    modes = np.full(len(leaf), _LEQ, dtype=np.uint8)
    modes[list(sets)] = _MEMBER
    thresholds = np.concatenate([tree.thresholds for tree in trees])
    thresholds[list(sets)] = 0
    members = [np.append(codes, np.nan) for codes in sets.values()]
    features = np.concatenate([tree.features for tree in trees])
    missing = np.concatenate([tree.missing_left for tree in trees])
    targets = np.repeat([tree.target for tree in trees], [len(tree.features) for tree in trees])
    weights = np.concatenate([tree.values for tree in trees])
    return {
        "n_targets": target_count,
        "aggregate_function": _SUM,
        "tree_roots": place[roots].tolist(),
        "nodes_featureids": features[~leaf].tolist(),
        "nodes_modes": _tensor(modes[~leaf], np.uint8),
        "nodes_splits": _tensor(thresholds[~leaf], np.float64),
        "nodes_truenodeids": place[left].tolist(),
        "nodes_trueleafs": leaf[left].astype(int).tolist(),
        "nodes_falsenodeids": place[right].tolist(),
        "nodes_falseleafs": leaf[right].astype(int).tolist(),
        "nodes_missing_value_tracks_true": missing[~leaf].astype(int).tolist(),
        "membership_values": _tensor(np.concatenate(members), np.float64),
        "leaf_targetids": targets[leaf].tolist(),
        "leaf_weights": _tensor(weights[leaf], np.float64),
    }


def _tensor(values: npt.NDArray[Any], dtype: type) -> Any:
    from onnx import numpy_helper  # noqa: PLC0415 - only where a model is written

    return numpy_helper.from_array(values.astype(dtype))
