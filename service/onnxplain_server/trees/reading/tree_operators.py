"""Tree operators: their nodes, and the affine function from sums of leaves to output columns.

The columns are those of onnxruntime, which returns two classes with one column of weights
as (1 − s, s) where no weight is negative, and as (−s, s) otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.reading.nodes import Mode, Nodes, read_nodes, read_nodes_5
from onnxplain_server.trees.reading.onnx_nodes import (
    Attributes,
    aggregate_function,
    post_transform,
)
from onnxplain_server.trees.reading.refusal import RefusedError

_LABELS = ("classlabels_strings", "classlabels_int64s")


@dataclass(frozen=True, slots=True, eq=False)
class TreeOperator:
    """A tree operator.

    Attributes
    ----------
    nodes : Nodes
    target_count : int
    share : float
        Factor of the sum over trees: 1, or one over the number of trees.
    matrix : (n_columns, n_targets)
    offset : (n_columns,)
        Columns are matrix · targets + offset.
    """

    nodes: Nodes
    target_count: int
    share: float
    matrix: Matrix
    offset: Vector


def read_sum_operator(node: NodeProto) -> TreeOperator:
    """Read a tree operator for the sums of its leaf values, whatever follows them."""
    attributes = Attributes(node)
    if node.op_type == "TreeEnsemble":
        nodes = read_nodes_5(attributes)
    else:
        is_classifier = node.op_type == "TreeEnsembleClassifier"
        nodes = read_nodes(attributes, "class" if is_classifier else "target")
    count = 1 + int(nodes.targets.max(initial=0))
    return TreeOperator(nodes, count, 1.0, np.eye(count), np.zeros(count))


def read_operator(node: NodeProto) -> TreeOperator:
    """Read a TreeEnsembleRegressor, TreeEnsembleClassifier or TreeEnsemble.

    Raises
    ------
    RefusedError
        Where the output is no sum or average over the trees, or attributes are inconsistent.
    """
    attributes = Attributes(node)
    aggregate = _aggregate(node)
    _refuse_link(node)
    if node.op_type == "TreeEnsembleClassifier":
        return _classifier(attributes)
    if node.op_type == "TreeEnsemble":
        nodes = read_nodes_5(attributes)
    else:
        nodes = read_nodes(attributes, "target")
    count = int(attributes.value("n_targets", 1))
    offset = _base(attributes, count)
    return TreeOperator(nodes, count, _share(nodes, aggregate), np.eye(count), offset)


def _aggregate(node: NodeProto) -> str:
    name = aggregate_function(node)
    if name not in {"SUM", "AVERAGE"}:
        raise RefusedError(f"the model takes the {name} over its trees, which is no sum")
    return name


def _refuse_link(node: NodeProto) -> None:
    name = post_transform(node)
    if name != "NONE":
        raise RefusedError(f"the sum over its trees goes through {name}")


def _share(nodes: Nodes, aggregate: str) -> float:
    return 1.0 if aggregate == "SUM" else 1 / len(np.unique(nodes.tree_ids))


def _base(attributes: Attributes, count: int) -> Vector:
    base = attributes.numbers("base_values", "base_values_as_tensor")
    if len(base) not in {0, count}:
        raise RefusedError(f"it has {len(base)} base_values for {count} columns")
    return base if len(base) else np.zeros(count)


def _classifier(attributes: Attributes) -> TreeOperator:
    nodes, count = read_nodes(attributes, "class"), len(attributes.texts(*_LABELS))
    if count != 2:
        return TreeOperator(nodes, count, 1.0, np.eye(count), _base(attributes, count))
    base = attributes.numbers("base_values", "base_values_as_tensor")
    if not nodes.targets.any() and len(base) < 2:
        score = float(base.sum())
        rest = 1.0 if np.all(nodes.weights >= 0) else 0.0
        matrix, offset = np.array([[-1.0, 0], [1, 0]]), np.array([rest - score, score])
        return TreeOperator(nodes, 2, 1.0, matrix, offset)
    if len(base) or not _always_scores_second(nodes):
        raise RefusedError("the runtime treats its two classes differently from row to row")
    return TreeOperator(nodes, 2, 1.0, np.eye(2), np.zeros(2))


def _always_scores_second(nodes: Nodes) -> bool:
    """Return whether all leaves of some tree have a weight for the second class."""
    is_second = nodes.targets == 1
    scoring = set(
        zip(
            nodes.leaf_tree_ids[is_second].tolist(),
            nodes.leaf_node_ids[is_second].tolist(),
            strict=True,
        )
    )
    leaves = np.flatnonzero(nodes.modes == Mode.LEAF)
    lacking = {
        tree
        for tree, node in zip(
            nodes.tree_ids[leaves].tolist(), nodes.node_ids[leaves].tolist(), strict=True
        )
        if (tree, node) not in scoring
    }
    return bool(set(nodes.tree_ids.tolist()) - lacking)
