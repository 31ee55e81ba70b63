"""Nodes that compute a link function of sums, and the outputs that are made of their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.terms.feature_sets import is_single
from onnxplain_server.adapters.onnx.terms.linear_steps import linear_scores
from onnxplain_server.additive.model import TermLink
from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.links import AffineMap
from onnxplain_server.trees.reading.onnx_nodes import attribute, link_name
from onnxplain_server.trees.reading.refusal import RefusedError

_LINKS = {"Sigmoid": TermLink.LOGISTIC, "Exp": TermLink.EXPONENTIAL, "Softmax": TermLink.SOFTMAX}
_OF_SCORES = {"LOGISTIC": TermLink.LOGISTIC, "SOFTMAX": TermLink.SOFTMAX}


@dataclass(frozen=True, eq=False)
class LinkNode:
    """Link function of scores, which are affine functions of a tensor.

    Attributes
    ----------
    link : TermLink
    tensor : str
        Tensor in front of the node.
    result : str
        Tensor that the node computes.
    matrix : (n_scores, n_values)
    intercepts : (n_scores,)
        Scores are matrix · values + intercepts.
    results : AffineMap
        Map from linked scores to the values of the result.
    """

    link: TermLink
    tensor: str
    result: str
    matrix: Matrix
    intercepts: Vector
    results: AffineMap


def is_link(graph: Graph, node: NodeProto) -> bool:
    """Return whether a node computes a link function of several features, or shares of results."""
    is_classifier = node.op_type == "LinearClassifier" and link_name(node) != "NONE"
    return node.op_type in _LINKS or is_classifier or divided_by_total(graph, node) is not None


def divided_by_total(graph: Graph, node: NodeProto) -> str | None:
    """Return the tensor that a node divides by its total in each row, if it is never negative."""
    if node.op_type == "Normalizer" and attribute(node, "norm", "MAX") == "L1":
        return str(node.input[0])
    if node.op_type != "Div":
        return None
    total = graph.producer(node.input[1])
    if total is None or total.op_type not in {"ReduceSum", "ReduceL1"}:
        return None
    if _reduced_axis(graph, total) not in {1, -1}:
        return None
    added = graph.producer(total.input[0])
    is_absolute = added is not None and added.op_type == "Abs"
    inside = added.input[0] if added is not None and is_absolute else total.input[0]
    is_kept = bool(attribute(total, "keepdims", 1))
    return str(inside) if is_kept and inside == node.input[0] else None


def _written_softmax(graph: Graph, node: NodeProto) -> str:
    """Return the scores of which a node computes the softmax as exp(scores - log Σ exp(scores)).

    Empty where it computes something else.
    """
    difference = graph.producer(node.input[0]) if node.op_type == "Exp" else None
    if difference is None or difference.op_type != "Sub":
        return ""
    scores, total = difference.input
    sizes = graph.producer(total)
    if sizes is not None and sizes.op_type in {"Reshape", "Unsqueeze"}:  # to a column
        sizes = graph.producer(sizes.input[0])
    if sizes is None or sizes.op_type != "ReduceLogSumExp" or sizes.input[0] != scores:
        return ""
    return str(scores) if _reduced_axis(graph, sizes) in {1, -1} else ""


def _reduced_axis(graph: Graph, node: NodeProto) -> int | None:
    """Return the axis along which a node reduces; None for several, and all."""
    axes = attribute(node, "axes")
    listed = graph.constant(node.input[1]) if axes is None and len(node.input) > 1 else axes
    numbers = [] if listed is None else np.ravel(listed).tolist()
    return int(numbers[0]) if len(numbers) == 1 else None


def read_link(graph: Graph, tensor: str, dependence: Mapping[str, Array]) -> LinkNode:
    """Read the node that computes a tensor.

    Raises
    ------
    RefusedError
        If it is no link function, or one that is not known.
    """
    node = graph.producer(tensor)
    if node is None or is_single(dependence[tensor]) or not is_link(graph, node):
        raise RefusedError("it adds terms of features to the result of a link function")
    before = node.input[0]
    if before not in dependence:
        raise RefusedError(f"what its {node.op_type} takes is not known row by row")
    size = dependence[tensor].size
    unchanged = AffineMap(np.eye(size), np.zeros(size))
    scores = _written_softmax(graph, node)
    if scores in dependence and dependence[scores].shape == (size,):
        return LinkNode(TermLink.SOFTMAX, scores, tensor, *unchanged, unchanged)
    if node.op_type in _LINKS:
        return LinkNode(_LINKS[node.op_type], before, tensor, *unchanged, unchanged)
    link = _OF_SCORES.get(link_name(node))
    if link is None or tensor != node.output[1]:
        raise RefusedError(f"its LinearClassifier goes through {link_name(node)}")
    matrix, intercepts = linear_scores(node)
    if len(intercepts) > 1:
        return LinkNode(link, before, tensor, matrix, intercepts, unchanged)
    if link is TermLink.SOFTMAX or size != 2:
        raise RefusedError("its LinearClassifier computes several results of one score")
    both = AffineMap(np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
    return LinkNode(link, before, tensor, matrix, intercepts, both)
