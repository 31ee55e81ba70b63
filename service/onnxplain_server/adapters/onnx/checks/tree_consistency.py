"""Consistency of tree ensembles: ids, children, leaves and lengths, before onnxruntime uses them.

onnxruntime refuses most faults at load time, some only at prediction, and a few never.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto

from onnxplain_server.adapters.onnx.checks.attribute_lengths import (
    declared_widths,
    inconsistent_node,
)
from onnxplain_server.adapters.onnx.checks.tree_depth import tree_depth
from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import Attributes, attribute, nodes_within
from onnxplain_server.trees.reading.structure import KeyIndex

_ID_LIMIT = 2**31
_UNKNOWN, _INNER, _LEAF = range(3)
_INNER_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_MODES = {b"LEAF": _LEAF} | {f"BRANCH_{mode}".encode(): _INNER for mode in _INNER_MODES}
_MEMBER = 6
"""BRANCH_MEMBER as TreeEnsemble numbers the modes."""


class TreeSizes(NamedTuple):
    """Trees of all tree ensembles of a model, and the levels of the deepest; 0 without trees."""

    tree_count: int = 0
    level_count: int = 0


def check_forests(model: ModelProto, depth_limit: int, target_limit: int) -> TreeSizes:
    """Check every tree ensemble of a model, and return the sizes of its trees.

    Raises
    ------
    ExplainError
        INVALID_MODEL with the inconsistency; MODEL_TOO_COMPLEX beyond a limit.
    """
    widths = declared_widths(model)
    sizes = TreeSizes()
    for node in nodes_within(model.graph):
        checker = _CHECKERS.get(node.op_type)
        if checker is not None:
            forest = _Forest(node, widths.get(node.input[0]) if node.input else None)
            _check_limit(forest.target_count(), target_limit, "columns in a tree ensemble")
            _refuse_single_text(node)
            depth = tree_depth(checker(forest), depth_limit)
            if depth is None:
                raise inconsistent_node(node, "nodes lie on a cycle")
            _check_limit(depth, depth_limit, "levels in a tree")
            count = sizes.tree_count + forest.tree_count()
            sizes = TreeSizes(count, max(sizes.level_count, depth))
    return sizes


class _Forest:
    """Attributes of one tree ensemble, with their lengths and ranges checked.

    Parameters
    ----------
    node : NodeProto
    width : int or None
        Number of the input's columns, if known.
    """

    def __init__(self, node: NodeProto, width: int | None) -> None:
        self.node = node
        self.width = width
        self._attributes = Attributes(node)

    def list(self, name: str, *lengths: int) -> Array:
        """Return an attribute as an array; check that it has one of `lengths`, if any."""
        array = self._attributes.array(name)
        if lengths:
            self._check_length(name, array.size, *lengths)
        return array

    def modes(self, length: int) -> npt.NDArray[np.uint8]:
        """Return the kind of each node by its mode, of `_MODES`."""
        modes = self._attributes.codes("nodes_modes", _MODES, _UNKNOWN)
        self._check_length("nodes_modes", len(modes), length)
        return modes

    def equalities(self) -> npt.NDArray[np.bool_]:
        """Return which nodes compare for equality."""
        is_equal: npt.NDArray[np.bool_]
        is_equal = self._attributes.codes("nodes_modes", {b"BRANCH_EQ": 1}, 0) == 1
        return is_equal

    def _check_length(self, name: str, size: int, *lengths: int) -> None:
        if size not in lengths:
            expected = " or ".join(f"{length:,}" for length in lengths)
            raise inconsistent_node(self.node, f"{name} has {size:,} values instead of {expected}")

    def either(self, name: str, *lengths: int) -> Array:
        """Return an attribute that may also be stored as a tensor."""
        tensor = self.list(f"{name}_as_tensor")
        return tensor if tensor.size else self.list(name, *lengths)

    def indices(
        self, name: str, length: int | None, end: int, used: Indices | None = None
    ) -> Indices:
        """Return an attribute of integers in [0, end), at the nodes that use it."""
        values = self.list(name) if length is None else self.list(name, length)
        values = values if used is None else values[used]
        if values.size and not (values.min() >= 0 and values.max() < end):
            wrong = values[~((values >= 0) & (values < end))]
            raise inconsistent_node(
                self.node, f"{name} holds {wrong[0]}, which is not in [0, {end - 1:,}]"
            )
        return values.astype(np.intp, copy=False)

    def require(self, condition: bool, reason: str) -> None:
        if not condition:
            raise inconsistent_node(self.node, reason)

    def tree_count(self) -> int:
        """Return the number of trees."""
        roots = self.list("tree_roots")
        return roots.size or len(np.unique(self.list("nodes_treeids")))

    def target_count(self) -> int:
        """Return the declared number of output columns."""
        if self.node.op_type == "TreeEnsembleClassifier":
            labels = ("classlabels_strings", "classlabels_int64s")
            return max(len(attribute(self.node, name, ())) for name in labels)
        return int(attribute(self.node, "n_targets", 1))


def _check_named(forest: _Forest) -> Indices:
    """Check a TreeEnsembleRegressor or -Classifier, whose nodes have a tree id and a node id."""
    keys = _keys(forest, "nodes_treeids", "nodes_nodeids")
    n = len(keys)
    forest.require(n > 0, "there are no nodes")
    index = KeyIndex(keys)
    forest.require(not len(index.repeated), "two nodes have the same number")
    modes = forest.modes(n)
    forest.require(bool(np.all(modes != _UNKNOWN)), "nodes_modes holds an unknown mode")
    leaf = modes == _LEAF
    inner = np.flatnonzero(~leaf)
    _check_splits(forest, forest.either("nodes_values", n)[inner], n, inner)
    children = np.full((n, 2), -1, np.intp)
    for side, name in enumerate(("nodes_truenodeids", "nodes_falsenodeids")):
        ids = forest.indices(name, n, _ID_LIMIT, inner)
        child_keys = (keys[inner] & ~(_ID_LIMIT - 1)) | ids
        children[inner, side] = _find(forest, child_keys, index, name, inner)
    last = _check_leaves(forest, index, leaf)
    _refuse_unread_leaves(forest, children, leaf & (keys > last))
    return children


def _check_leaves(forest: _Forest, index: KeyIndex, leaf: Array) -> int:
    """Check that weights belong to existing leaves and output columns; return the last such key."""
    stem = "class" if forest.node.op_type == "TreeEnsembleClassifier" else "target"
    owners = _keys(forest, f"{stem}_treeids", f"{stem}_nodeids")
    positions = _find(forest, owners, index, f"{stem}_nodeids")
    forest.require(bool(leaf[positions].all()), f"{stem}_nodeids names a node that is no leaf")
    forest.require(len(owners) > 0, "no leaf has a weight")
    forest.indices(f"{stem}_ids", len(owners), max(1, forest.target_count()))
    forest.either(f"{stem}_weights", len(owners))
    forest.either("base_values", 0, 1, max(1, forest.target_count()))
    return int(owners.max())


def _refuse_unread_leaves(forest: _Forest, children: Indices, beyond: Array) -> None:
    """Refuse equalities on one feature, one after the other, with a leaf behind all weights.

    To join such equalities the runtime compares the weights of their leaves, and for a leaf whose
    number is beyond that of the last weight it reads memory behind the weights, and may die.
    """
    equal = forest.equalities()
    first = np.flatnonzero(equal & (children[:, 1] >= 0))
    second = children[first, 1]
    features = forest.list("nodes_featureids")
    joined = equal[second] & (features[first] == features[second])
    leaves = children[np.concatenate([first[joined], second[joined]]), 0]
    if beyond[leaves].any():
        message = (
            "The model has BRANCH_EQ nodes on one feature in a row, and a leaf of theirs behind "
            "the last one that has a weight, with which onnxruntime may end the process. Give "
            "each leaf a weight, which may be 0."
        )
        raise ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")


def _keys(forest: _Forest, trees: str, numbers: str) -> Indices:
    """Combine tree id and node id to one key."""
    tree = forest.indices(trees, None, _ID_LIMIT)
    return tree * _ID_LIMIT + forest.indices(numbers, len(tree), _ID_LIMIT)


def _find(
    forest: _Forest, targets: Indices, index: KeyIndex, name: str, referrers: Indices | None = None
) -> Indices:
    """Return the positions of the nodes with these keys."""
    positions = index.find(targets, referrers)
    missing = np.flatnonzero(positions < 0)
    if len(missing):
        node_id = targets[missing[0]] % _ID_LIMIT
        raise inconsistent_node(
            forest.node, f"{name} names node {node_id}, which its tree does not have"
        )
    return positions


def _check_indexed(forest: _Forest) -> Indices:
    """Check a TreeEnsemble of ai.onnx.ml 5, whose nodes and leaves are numbered consecutively."""
    n = forest.list("nodes_featureids").size
    leaf_count = forest.list("leaf_targetids").size
    forest.require(n > 0 and leaf_count > 0, "there are no nodes or no leaves")
    modes = forest.indices("nodes_modes", n, _MEMBER + 1)
    splits = forest.list("nodes_splits", n)
    _check_splits(forest, splits[modes != _MEMBER], n, np.arange(n))
    set_count = int(np.isnan(forest.list("membership_values").astype(np.float64)).sum())
    forest.require(
        set_count == int((modes == _MEMBER).sum()),
        f"membership_values has {set_count} sets for {int((modes == _MEMBER).sum())} nodes",
    )
    children = np.full((n, 2), -1, np.intp)
    for side, (ids, leafs) in enumerate(
        (("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs"))
    ):
        leaf = forest.indices(leafs, n, 2) == 1
        positions = forest.indices(ids, n, max(n, leaf_count))
        is_outside = positions >= np.where(leaf, leaf_count, n)
        forest.require(not is_outside.any(), f"{ids} names a node or leaf that does not exist")
        children[~leaf, side] = positions[~leaf]
    forest.indices("leaf_targetids", leaf_count, max(1, forest.target_count()))
    forest.list("leaf_weights", leaf_count)
    tree_count = forest.list("tree_roots").size
    forest.require(tree_count > 0, "there are no trees")
    forest.indices("tree_roots", tree_count, n)
    return children


def _check_splits(forest: _Forest, thresholds: Array, n: int, used: Indices) -> None:
    """Check features and thresholds of inner nodes, and the lists with a value per node."""
    thresholds = thresholds.astype(np.float64, copy=False)
    forest.require(not np.isnan(thresholds).any(), "a threshold is NaN")
    features = forest.indices("nodes_featureids", n, _ID_LIMIT, used)
    last = int(features.max(initial=-1))
    forest.require(
        forest.width is None or last < forest.width,
        f"nodes_featureids names column {last}, and the input has {forest.width}",
    )
    forest.either("nodes_hitrates", 0, n)
    forest.list("nodes_missing_value_tracks_true", 0, n)


def _refuse_single_text(node: NodeProto) -> None:
    """Refuse a classifier of one class of text: the runtime reads a second label, and dies."""
    is_classifier = node.op_type == "TreeEnsembleClassifier"
    if is_classifier and len(attribute(node, "classlabels_strings", ())) == 1:
        message = (
            "The model has a TreeEnsembleClassifier with a single class, named by text, which "
            "onnxruntime cannot evaluate. Name the class by a number, or export a regressor."
        )
        raise ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")


def _check_limit(count: int, limit: int, noun: str) -> None:
    if count > limit:
        message = f"The model has more than {limit:,} {noun}, the most that this server takes."
        raise ExplainError(Reason.MODEL_TOO_COMPLEX, message, "model")


_CHECKERS: dict[str, Callable[[_Forest], Indices]] = {
    "TreeEnsembleRegressor": _check_named,
    "TreeEnsembleClassifier": _check_named,
    "TreeEnsemble": _check_indexed,
}
