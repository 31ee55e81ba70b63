"""Tree operators: their nodes, and the affine function from sums of leaves to output columns.

The columns are those of onnxruntime, which returns two classes with one column of weights
as (1 − s, s) where no weight is negative, and as (−s, s) otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.reading.nodes import Nodes, read_nodes, read_nodes_5
from onnxplain_server.trees.reading.onnx_nodes import (
    Attributes,
    aggregate_function,
    base_values,
    column_count,
    link_name,
)
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.special_cases.scoring import (
    LeafWeights,
    classifier_scoring,
    regressor_scoring,
)
from onnxplain_server.trees.reading.structure import leaf_positions


@dataclass(frozen=True, slots=True, eq=False)
class TreeOperator:
    """A tree operator.

    Attributes
    ----------
    nodes : Nodes
    values : (n_nodes, n_targets)
        Values of leaves.
    share : float
        Factor of the sum over trees: 1, or one over the number of trees.
    matrix : (n_columns, n_targets)
    offset : (n_columns,)
        Columns are matrix · targets + offset.
    """

    nodes: Nodes
    values: Matrix
    share: float
    matrix: Matrix
    offset: Vector

    @property
    def target_count(self) -> int:
        """Number of targets."""
        return int(self.values.shape[1])


class LinkedOperator(NamedTuple):
    """A tree operator whose columns are scores, and the link behind them.

    Attributes
    ----------
    operator : TreeOperator
    leaves : LeafWeights
    link : str
        NONE, LOGISTIC or SOFTMAX.
    """

    operator: TreeOperator
    leaves: LeafWeights
    link: str


def read_sum_operator(node: NodeProto) -> TreeOperator:
    """Read a tree operator for the sums of its leaf values, whatever follows them."""
    leaves = _read_leaves(node)
    # Targets behind the last one that has a leaf are all 0.
    count = 1 + int(leaves.nodes.targets.max(initial=0))
    values = np.ascontiguousarray(leaves.values[:, :count])
    return TreeOperator(leaves.nodes, values, 1.0, np.eye(count), np.zeros(count))


def read_operator(node: NodeProto) -> TreeOperator:
    """Read a TreeEnsembleRegressor, TreeEnsembleClassifier or TreeEnsemble.

    Raises
    ------
    RefusedError
        Where the output is no sum or average over the trees, or attributes are inconsistent.
    """
    if link_name(node) == "LOGISTIC":  # whatever the leaves are, which need not be read
        raise RefusedError("the sum over its trees goes through LOGISTIC")
    linked = read_linked_operator(node)
    if linked.link != "NONE":
        raise RefusedError(f"the sum over its trees goes through {linked.link}")
    return linked.operator


def read_linked_operator(node: NodeProto) -> LinkedOperator:
    """Read a tree operator for its scores, of which the link is the answer in every row.

    Raises
    ------
    RefusedError
        As `read_operator`, and where the runtime treats some rows in another way.
    """
    is_classifier = node.op_type == "TreeEnsembleClassifier"
    aggregate = "SUM" if is_classifier else _aggregate(node)
    leaves, base, name = _read_leaves(node), base_values(node), link_name(node)
    if is_classifier:
        share, scoring = 1.0, classifier_scoring(leaves, base, name)
    else:
        share = _share(leaves.nodes, aggregate)
        scoring = regressor_scoring(leaves, share, base, name)
    matrix, offset, link = scoring
    operator = TreeOperator(leaves.nodes, leaves.values, share, matrix, offset)
    return LinkedOperator(operator, leaves, link)


def has_one_weight_each(node: NodeProto) -> bool:
    """Return whether each leaf of a classifier certainly has one weight, by few of its lists."""
    attributes = Attributes(node)
    keys = attributes.integers("class_treeids") << 32 | attributes.integers("class_nodeids")
    is_distinct = bool(np.all(keys[1:] > keys[:-1])) or len(np.unique(keys)) == len(keys)
    return is_distinct and len(keys) == attributes.count("nodes_modes", b"LEAF")


def _read_leaves(node: NodeProto) -> LeafWeights:
    """Read the nodes and their weights; refuse weights for other targets than it declares."""
    attributes = Attributes(node)
    if node.op_type == "TreeEnsemble":
        nodes = read_nodes_5(attributes)
    else:
        is_classifier = node.op_type == "TreeEnsembleClassifier"
        nodes = read_nodes(attributes, "class" if is_classifier else "target")
    count = column_count(node)
    wrong = (nodes.targets < 0) | (nodes.targets >= count)
    if wrong.any():
        i = int(np.argmax(wrong))
        place = f"tree {nodes.leaf_tree_ids[i]}, node {nodes.leaf_node_ids[i]}"
        raise RefusedError(f"{place} has a weight for target {nodes.targets[i]} of {count}")
    return LeafWeights(nodes, leaf_positions(nodes), count)


def _aggregate(node: NodeProto) -> str:
    name = aggregate_function(node)
    if name not in {"SUM", "AVERAGE"}:
        raise RefusedError(f"the model takes the {name} over its trees, which is no sum")
    return name


def _share(nodes: Nodes, aggregate: str) -> float:
    return 1.0 if aggregate == "SUM" else 1 / len(np.unique(nodes.tree_ids))
