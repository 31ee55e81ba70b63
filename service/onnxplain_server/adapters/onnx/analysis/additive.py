"""Additivity of a tensor: whether it is a sum over trees or one affine map, or why it is not."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from onnxplain_server.adapters.onnx.analysis.ensembles import LINKED
from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.trees.reading.onnx_nodes import (
    Attributes,
    aggregate_function,
    attribute,
    link_name,
)

PASSING = frozenset(
    {
        *("Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"),
        *("Slice", "Gather", "ArrayFeatureExtractor"),
    }
)
"""Operators that only move or repeat values of their first input."""

_SUMS = frozenset({"Add", "Sub", "Sum", "Neg", "Concat"})
_PRODUCTS = frozenset({"Mul", "Div", "MatMul", "Gemm"})
_PREPARING = frozenset(
    {
        *("Scaler", "Imputer", "OneHotEncoder", "LabelEncoder", "CategoryMapper", "Binarizer"),
        *("FeatureVectorizer", "DictVectorizer", "Where", "IsNaN", "Equal"),
    }
)
"""Operators that prepare features one by one, before any map or tree."""

_ADDITIVE = "the model's answer is already additive"
_AVERAGE = "the model averages the probabilities of its trees"


def is_all_ones(graph: Graph, tensor: str) -> bool:
    """Check for a constant tensor of ones."""
    values = graph.constant(tensor)
    return values is not None and bool(np.all(values == 1))


def answer_refusal(graph: Graph, tensor: str) -> str:
    """Explain why an answer that ends in no logistic or softmax has no margin."""
    node = graph.producer(tensor)
    if node is not None and node.op_type == "TreeEnsembleClassifier" and _is_average(node):
        return _AVERAGE
    return obstacle_refusal(graph, tensor) or _ADDITIVE


def obstacle_refusal(graph: Graph, tensor: str) -> str:
    """Explain why a tensor is no additive score; empty if it is one."""
    obstacle = _obstacle_behind(graph, tensor)
    if obstacle is None:
        return ""
    return (
        f"the model computes {obstacle} on the way to its answer, while only a sum over trees or "
        "one linear map, ended by a logistic or softmax, has an additive score (a network has none)"
    )


def _obstacle_behind(graph: Graph, tensor: str) -> str | None:
    """Return the first operator that makes a tensor non-additive; None if it is additive."""
    stack = [(tensor, False)]
    while stack:
        name, is_prepared = stack.pop()
        node = graph.producer(name)
        if node is None or node.op_type == "Constant":
            continue
        if _is_look_up(graph, node):
            continue
        if not _keeps_additive(graph, node, is_prepared=is_prepared):
            return node.op_type
        if node.op_type not in LINKED:
            is_prepared = is_prepared or node.op_type in _PREPARING
            stack.extend((inner, is_prepared) for inner in node.input if inner)
    return None


def _is_look_up(graph: Graph, node: NodeProto) -> bool:
    """Check for a constant that is looked up by positions: a term of the features they are of."""
    return node.op_type == "GatherND" and graph.constant(node.input[0]) is not None


def _keeps_additive(graph: Graph, node: NodeProto, *, is_prepared: bool) -> bool:
    if node.op_type in LINKED:
        return not is_prepared and _is_sum(node)
    if node.op_type in _PRODUCTS:
        varying = [name for name in node.input if name and graph.constant(name) is None]
        is_map = node.op_type in {"MatMul", "Gemm"}
        return len(varying) <= 1 and not (is_map and is_prepared)
    if node.op_type == "ReduceSum":
        return _adds_within_rows(graph, node)
    return node.op_type in PASSING | _SUMS | _PREPARING


def _adds_within_rows(graph: Graph, node: NodeProto) -> bool:
    axes = attribute(node, "axes")
    if axes is None and len(node.input) > 1:
        axes = graph.constant(node.input[1])
    return axes is not None and len(axes) > 0 and min(axes) > 0


def _is_sum(node: NodeProto) -> bool:
    """Check that a node only sums or averages its leaf values or coefficients."""
    return link_name(node) == "NONE" and aggregate_function(node) in {"SUM", "AVERAGE"}


def _is_average(node: NodeProto) -> bool:
    weights = Attributes(node).numbers("class_weights_as_tensor", "class_weights")
    return link_name(node) == "NONE" and bool(np.all((weights >= 0) & (weights <= 1)))
