"""Scores of tree ensembles and linear maps of ai.onnx.ml: their sums before the link function.

Classifiers are rewritten as regressors, because onnxruntime has special cases for classifiers with
two classes and one column of weights even without a link (1 − s instead of −s, for example).
"""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.trees.reading.onnx_nodes import (
    ML,
    TREE_OPERATORS,
    Attributes,
    attribute,
    post_transform,
)

_LINKS = {"LOGISTIC": "LOGISTIC", "SOFTMAX": "SOFTMAX", "SOFTMAX_ZERO": "SOFTMAX"}

LINKED = TREE_OPERATORS | {"LinearClassifier", "LinearRegressor"}
"""Operators that sum, and may apply a link function to the sum."""

_LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")


def link_function(node: NodeProto) -> str | None:
    """Return the link after the sum, LOGISTIC or SOFTMAX; None for anything else."""
    return _LINKS.get(post_transform(node))


def add_scores(graph: Graph, node: NodeProto) -> str:
    """Add the sum without its link: (n_rows, n_columns), and (−score, score) for two classes."""
    if node.op_type == "TreeEnsembleClassifier":
        return _tree_scores(graph, node)
    if node.op_type == "LinearClassifier":
        return _linear_scores(graph, node)
    copy = NodeProto()
    copy.CopyFrom(node)
    attributes = [content for content in node.attribute if content.name != "post_transform"]
    del copy.attribute[:]
    copy.attribute.extend(attributes)
    return graph.add_copy(copy, list(node.input))


def _tree_scores(graph: Graph, node: NodeProto) -> str:
    labels = Attributes(node).texts(*_LABELS)
    ids = Attributes(node).integers("class_ids")
    # As in onnxruntime: weights of class 0 alone are one score, for the second class.
    is_single = len(labels) == 2 and np.unique(ids).tolist() == [0]
    attributes = [_for_regressor(content) for content in node.attribute]
    regressor = helper.make_node("TreeEnsembleRegressor", [], [""], domain=ML)
    regressor.attribute.extend(content for content in attributes if content is not None)
    n_targets = 1 if is_single else len(labels)
    regressor.attribute.append(helper.make_attribute("n_targets", n_targets))
    scores = graph.add_copy(regressor, list(node.input))
    return _both_signs(graph, scores) if is_single else scores


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
