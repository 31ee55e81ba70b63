"""Tree ensembles and linear maps of ai.onnx.ml: their sums without the link that follows.

Classifiers are rewritten as regressors, because onnxruntime treats classifiers with two classes
and one column of weights in ways of its own even without a link (1 − s instead of −s, for one).
"""

from __future__ import annotations

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
"""Operators that add up, and may pass the sum through a link."""

_LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")


def link_of(node: NodeProto) -> str | None:
    """LOGISTIC or SOFTMAX where one follows the sum; None for anything else."""
    return _LINKS.get(post_transform(node))


def scores_of(graph: Graph, node: NodeProto) -> str:
    """Add the same sum without a link: (n_rows, n_columns), and (−score, score) for two classes."""
    if node.op_type == "TreeEnsembleClassifier":
        return _tree_scores(graph, node)
    if node.op_type == "LinearClassifier":
        return _linear_scores(graph, node)
    copy = NodeProto()
    copy.CopyFrom(node)
    kept = [found for found in node.attribute if found.name != "post_transform"]
    del copy.attribute[:]
    copy.attribute.extend(kept)
    return graph.add_copy(copy, list(node.input))


def _tree_scores(graph: Graph, node: NodeProto) -> str:
    labels = Attributes(node).texts(*_LABELS)
    # As onnxruntime has it: weights of class 0 alone are one score, for the second class.
    is_single = len(labels) == 2 and set(attribute(node, "class_ids", ())) == {0}
    attributes = [_for_regressor(found) for found in node.attribute]
    regressor = helper.make_node("TreeEnsembleRegressor", [], [""], domain=ML)
    regressor.attribute.extend(found for found in attributes if found is not None)
    n_targets = 1 if is_single else len(labels)
    regressor.attribute.append(helper.make_attribute("n_targets", n_targets))
    scores = graph.add_copy(regressor, list(node.input))
    return _both_signs(graph, scores) if is_single else scores


def _for_regressor(found: AttributeProto) -> AttributeProto | None:
    """The attribute as a regressor calls it; None where it has none such."""
    if found.name == "post_transform" or found.name.startswith("classlabels"):
        return None
    renamed = AttributeProto()
    renamed.CopyFrom(found)
    if found.name.startswith("class_"):
        renamed.name = "target_" + found.name.removeprefix("class_")
    return renamed


def _linear_scores(graph: Graph, node: NodeProto) -> str:
    intercepts = attribute(node, "intercepts", ())
    scores = graph.add(
        "LinearRegressor",
        [graph.add("Cast", [node.input[0]], to=TensorProto.FLOAT)],  # it takes nothing else
        ML,
        coefficients=attribute(node, "coefficients"),
        intercepts=intercepts,
        targets=len(intercepts),
    )
    is_single = len(intercepts) == 1 and len(Attributes(node).texts(*_LABELS)) == 2
    return _both_signs(graph, scores) if is_single else scores


def _both_signs(graph: Graph, scores: str) -> str:
    return graph.add("Concat", [graph.add("Neg", [scores]), scores], axis=1)
