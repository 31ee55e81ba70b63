"""Tree ensembles that contradict themselves, found before onnxruntime follows them.

onnxruntime refuses most of these by itself, some only when it predicts, and a few never.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from onnxplain_server.adapters.onnx.checks.attribute_lengths import broken, declared_widths
from onnxplain_server.adapters.onnx.checks.tree_depth import tree_depth
from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import attribute, nodes_within

_WIDEST = 2**31
_LEAF = "LEAF"
_MODES = frozenset(
    {
        *("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"),
        *("BRANCH_MEMBER", _LEAF),
    }
)
_MEMBER = 6
"""BRANCH_MEMBER as TreeEnsemble numbers the modes."""


def check_forests(model: ModelProto, depth_limit: int, target_limit: int) -> None:
    """Check every tree ensemble of a model.

    Raises
    ------
    ExplainError
        INVALID_MODEL with what contradicts what; MODEL_TOO_COMPLEX beyond a limit.
    """
    widths = declared_widths(model)
    for node in nodes_within(model.graph):
        checker = _CHECKERS.get(node.op_type)
        if checker is not None:
            forest = _Forest(node, widths.get(node.input[0]) if node.input else None)
            _within(forest.target_count(), target_limit, "columns in a tree ensemble")
            depth = tree_depth(checker(forest), depth_limit)
            if depth is None:
                raise broken(node, "nodes lie on a cycle")
            _within(depth, depth_limit, "levels in a tree")


class _Forest:
    """The attributes of one tree ensemble.

    Parameters
    ----------
    node : NodeProto
    width : int or None
        Number of its input's columns, where it is known.
    """

    def __init__(self, node: NodeProto, width: int | None) -> None:
        self.node = node
        self.width = width

    def list(self, name: str, *lengths: int) -> Array:
        """An attribute as an array, of one of these lengths where any are given."""
        values = attribute(self.node, name, ())
        if isinstance(values, TensorProto):
            values = numpy_helper.to_array(values)
        found = np.atleast_1d(np.asarray(values if len(values) else (), dtype=_dtype(values)))
        if lengths and found.size not in lengths:
            wanted = " or ".join(f"{length:,}" for length in lengths)
            raise broken(self.node, f"{name} has {found.size:,} values instead of {wanted}")
        return found

    def either(self, name: str, *lengths: int) -> Array:
        """An attribute that may also be written as a tensor."""
        tensor = self.list(f"{name}_as_tensor")
        return self.list(name, *lengths) if not tensor.size else self.list(f"{name}_as_tensor")

    def indices(self, name: str, length: int, below: int, used: Array | None = None) -> Indices:
        """An attribute of whole numbers from 0 to `below` - 1, at the nodes that use it."""
        found = self.list(name, length)
        found = found if used is None else found[used]
        wrong = found[(found < 0) | (found >= below)]
        if wrong.size:
            raise broken(self.node, f"{name} holds {wrong[0]}, which is not in [0, {below - 1:,}]")
        return found.astype(np.intp)

    def require(self, holds: bool, why: str) -> None:
        if not holds:
            raise broken(self.node, why)

    def target_count(self) -> int:
        """Number of columns that it claims to give."""
        if self.node.op_type == "TreeEnsembleClassifier":
            labels = ("classlabels_strings", "classlabels_int64s")
            return max(self.list(name).size for name in labels)
        return int(attribute(self.node, "n_targets", 1))


def _dtype(values: Array) -> type | None:
    """Whole numbers stay whole where a list is empty."""
    return None if len(values) else np.int64


def _check_named(forest: _Forest) -> Indices:
    """TreeEnsembleRegressor and -Classifier, whose nodes have names: a tree and a number in it."""
    keys = _keys(forest, "nodes_treeids", "nodes_nodeids")
    n, order = len(keys), np.argsort(keys)
    forest.require(n > 0, "there are no nodes")
    forest.require(bool(np.all(np.diff(keys[order]) > 0)), "two nodes have the same number")
    modes = forest.list("nodes_modes", n)
    forest.require(set(np.unique(modes)) <= _MODES, "nodes_modes holds an unknown mode")
    leaf = modes == _LEAF
    _check_splits(forest, forest.either("nodes_values", n)[~leaf], n, ~leaf)
    children = np.full((n, 2), -1, np.intp)
    for side, name in enumerate(("nodes_truenodeids", "nodes_falsenodeids")):
        below = forest.indices(name, n, _WIDEST, ~leaf)
        wanted = (keys[~leaf] & ~(_WIDEST - 1)) | below
        children[~leaf, side] = _find(forest, wanted, keys, order, name)
    _check_leaves(forest, keys, order, leaf)
    return children


def _check_leaves(forest: _Forest, keys: Indices, order: Indices, leaf: Array) -> None:
    """Weights belong to leaves, and to columns that there are."""
    stem = "class" if forest.node.op_type == "TreeEnsembleClassifier" else "target"
    owners = _keys(forest, f"{stem}_treeids", f"{stem}_nodeids")
    found = _find(forest, owners, keys, order, f"{stem}_nodeids")
    forest.require(bool(leaf[found].all()), f"{stem}_nodeids names a node that is no leaf")
    forest.require(len(owners) > 0, "no leaf has a weight")
    forest.indices(f"{stem}_ids", len(owners), max(1, forest.target_count()))
    forest.either(f"{stem}_weights", len(owners))
    forest.either("base_values", 0, 1, max(1, forest.target_count()))


def _keys(forest: _Forest, trees: str, numbers: str) -> Indices:
    """One number for each tree and number in it."""
    n = forest.list(trees).size
    return forest.indices(trees, n, _WIDEST) * _WIDEST + forest.indices(numbers, n, _WIDEST)


def _find(forest: _Forest, wanted: Indices, keys: Indices, order: Indices, name: str) -> Indices:
    """Indices of the nodes with these keys."""
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    found: Indices = order[at]
    missing = np.flatnonzero(keys[found] != wanted)
    if len(missing):
        lost = wanted[missing[0]] % _WIDEST
        raise broken(forest.node, f"{name} names node {lost}, which its tree does not have")
    return found


def _check_indexed(forest: _Forest) -> Indices:
    """TreeEnsemble of ai.onnx.ml 5, whose nodes and leaves are counted through."""
    n = forest.list("nodes_featureids").size
    leaf_count = forest.list("leaf_targetids").size
    forest.require(n > 0 and leaf_count > 0, "there are no nodes or no leaves")
    modes = forest.indices("nodes_modes", n, _MEMBER + 1)
    splits = forest.list("nodes_splits", n)
    _check_splits(forest, splits[modes != _MEMBER], n, np.ones(n, dtype=bool))
    ends = int(np.isnan(forest.list("membership_values").astype(np.float64)).sum())
    forest.require(
        ends == int((modes == _MEMBER).sum()),
        f"membership_values has {ends} sets for {int((modes == _MEMBER).sum())} nodes",
    )
    children = np.full((n, 2), -1, np.intp)
    for side, (ids, leafs) in enumerate(
        (("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs"))
    ):
        leaf = forest.indices(leafs, n, 2) == 1
        below = forest.indices(ids, n, max(n, leaf_count))
        over = below >= np.where(leaf, leaf_count, n)
        forest.require(not over.any(), f"{ids} names a node or leaf that does not exist")
        children[~leaf, side] = below[~leaf]
    forest.indices("leaf_targetids", leaf_count, max(1, forest.target_count()))
    forest.list("leaf_weights", leaf_count)
    roots = forest.list("tree_roots").size
    forest.require(roots > 0, "there are no trees")
    forest.indices("tree_roots", roots, n)
    return children


def _check_splits(forest: _Forest, thresholds: Array, n: int, used: Array) -> None:
    """Features and thresholds of the nodes that are used, and what is told about all."""
    forest.require(not np.isnan(thresholds.astype(np.float64)).any(), "a threshold is NaN")
    features = forest.indices("nodes_featureids", n, _WIDEST, used)
    last = int(features.max(initial=-1))
    forest.require(
        forest.width is None or last < forest.width,
        f"nodes_featureids names column {last}, and the input has {forest.width}",
    )
    forest.either("nodes_hitrates", 0, n)
    forest.list("nodes_missing_value_tracks_true", 0, n)


def _within(found: int, limit: int, what: str) -> None:
    if found > limit:
        message = f"The model has more than {limit:,} {what}, the most that this server takes."
        raise ExplainError(Reason.MODEL_TOO_COMPLEX, message, "model")


_CHECKERS: dict[str, Callable[[_Forest], Indices]] = {
    "TreeEnsembleRegressor": _check_named,
    "TreeEnsembleClassifier": _check_named,
    "TreeEnsemble": _check_indexed,
}
