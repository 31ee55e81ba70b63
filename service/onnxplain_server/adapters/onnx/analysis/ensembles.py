"""Scores of tree ensembles and linear maps of ai.onnx.ml: their sums before the link function.

Classifiers are rewritten as regressors, because onnxruntime has special cases for classifiers with
two classes and one column of weights even without a link (1 − s instead of −s, for example).
"""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.trees.reading.onnx_nodes import (
    ML,
    TREE_OPERATORS,
    Attributes,
    attribute,
    base_values,
    column_count,
    link_name,
)
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.trees.reading.tree_operators import (
    has_one_weight_each,
    read_linked_operator,
)

LINKED = TREE_OPERATORS | {"LinearClassifier", "LinearRegressor"}
"""Operators that sum, and may apply a link function to the sum."""

_LINKS = {"LOGISTIC": "LOGISTIC", "SOFTMAX": "SOFTMAX", "SOFTMAX_ZERO": "SOFTMAX"}
_LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")
_BOTH_SIGNS = [[-1.0, 0.0], [1.0, 0.0]]


def link_function(node: NodeProto) -> str | None:
    """Return the link after the sum, LOGISTIC or SOFTMAX; None for anything else."""
    return _LINKS.get(link_name(node))


def add_scores(graph: Graph, node: NodeProto) -> str:
    """Add the sum without its link: (n_rows, n_columns), and (−score, score) for two classes.

    Raises
    ------
    RefusedError
        Where the answer is not the link of such a sum in every row.
    """
    if node.op_type == "LinearClassifier":
        return _linear_scores(graph, node)
    if node.op_type == "LinearRegressor":
        return graph.add_copy(_without_link(node), list(node.input))
    if node.op_type == "TreeEnsembleClassifier":
        return _usual_class_scores(graph, node) or _class_scores(graph, node)
    read_linked_operator(node)
    return graph.add_copy(_without_link(node), list(node.input))


def _usual_class_scores(graph: Graph, node: NodeProto) -> str | None:
    """Add the scores of classes whose trees need not be read; None if it takes more to see."""
    base, count = base_values(node), column_count(node)
    ids = Attributes(node).integers("class_ids")
    is_single = count == 2 and len(base) < 2 and link_name(node) == "LOGISTIC" and not ids.any()
    is_plain = count > 2 and not len(base) and link_name(node) in {"LOGISTIC", "SOFTMAX"}
    if not (is_single or is_plain) or not has_one_weight_each(node):
        return None
    scores = _regressor(graph, node, 1 if is_single else count, base)
    return _both_signs(graph, scores) if is_single else scores


def _without_link(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    attributes = [content for content in node.attribute if content.name != "post_transform"]
    del copy.attribute[:]
    copy.attribute.extend(attributes)
    return copy


def _class_scores(graph: Graph, node: NodeProto) -> str:
    """Add the scores of classes, which the runtime computes for regressors in the same way."""
    operator, leaves, link = read_linked_operator(node)
    if link == "NONE":
        raise RefusedError("the runtime computes no link behind the sum over its trees")
    matrix, offset = operator.matrix.tolist(), operator.offset
    if matrix == _BOTH_SIGNS and leaves.have_one_weight_each:
        scores = _regressor(graph, node, 1, offset[1:])
        return _both_signs(graph, scores)
    is_plain = np.array_equal(operator.matrix, np.eye(len(offset)))
    if is_plain and np.all(leaves.reached | (offset == 0)):
        return _regressor(graph, node, len(offset), offset)
    # A regressor of one column, or a base value, has special cases of its own.
    sums = _regressor(graph, node, max(2, leaves.count), np.zeros(0))
    return _affine(graph, sums, operator.matrix, offset)


def _regressor(graph: Graph, node: NodeProto, n_targets: int, base: Vector) -> str:
    """Add the classifier's trees as a regressor; base values as the classifier has them."""
    regressor = helper.make_node("TreeEnsembleRegressor", [], [""], domain=ML)
    attributes = [_for_regressor(content) for content in node.attribute]
    own = base_values(node)
    keeps_base = len(own) == len(base) and np.array_equal(own, base)
    regressor.attribute.extend(
        content
        for content in attributes
        if content is not None and (keeps_base or not content.name.startswith("base_values"))
    )
    if not keeps_base and base.any():
        regressor.attribute.append(helper.make_attribute("base_values", base.tolist()))
    regressor.attribute.append(helper.make_attribute("n_targets", n_targets))
    return graph.add_copy(regressor, list(node.input))


def _affine(graph: Graph, sums: str, matrix: Matrix, offset: Vector) -> str:
    """Add matrix · sums + offset, where each row of the matrix has one entry at most."""
    chosen = np.abs(matrix).argmax(axis=1)
    factors = matrix[np.arange(len(matrix)), chosen]
    scores = graph.add("Gather", [sums, graph.add_constant(chosen)], axis=1)
    scores = graph.add("Mul", [scores, graph.add_constant(factors.astype(np.float32))])
    return graph.add("Add", [scores, graph.add_constant(offset.astype(np.float32))])


def _for_regressor(content: AttributeProto) -> AttributeProto | None:
    """Rename an attribute of a classifier for a regressor; None if a regressor has none such."""
    if content.name == "post_transform" or content.name.startswith("classlabels"):
        return None
    renamed = AttributeProto()
    renamed.CopyFrom(content)
    if content.name.startswith("class_"):
        renamed.name = "target_" + content.name.removeprefix("class_")
    return renamed


def _linear_scores(graph: Graph, node: NodeProto) -> str:
    intercepts = attribute(node, "intercepts", ())
    scores = graph.add(
        "LinearRegressor",
        [graph.add("Cast", [node.input[0]], to=TensorProto.FLOAT)],  # its only input type
        ML,
        coefficients=attribute(node, "coefficients"),
        intercepts=intercepts,
        targets=len(intercepts),
    )
    is_single = len(intercepts) == 1 and len(Attributes(node).texts(*_LABELS)) == 2
    return _both_signs(graph, scores) if is_single else scores


def _both_signs(graph: Graph, scores: str) -> str:
    return graph.add("Concat", [graph.add("Neg", [scores]), scores], axis=1)
