"""Margin of a classifier: the additive score before its logistic or softmax, from the graph.

The walk goes backwards from the probabilities and builds, beside each tensor, the tensor of scores
that it was computed from, until it reaches the link. The result counts only after a check on trial
rows: the link of the scores must equal the model's own answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from onnx import NodeProto

from onnxplain_server.adapters.onnx.analysis.additive import (
    PASSING,
    answer_refusal,
    is_all_ones,
    obstacle_refusal,
)
from onnxplain_server.adapters.onnx.analysis.ensembles import LINKED, add_scores, link_function
from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.outputs import OutputTensor
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import attribute
from onnxplain_server.trees.reading.refusal import RefusedError

_ACTIVATIONS = {"Sigmoid": "LOGISTIC", "Softmax": "SOFTMAX"}
_TOLERANCE = 1e-5
"""Absolute, for probabilities: float32 rounding of two computations of the link."""

_MODERATE = 50.0
"""Limit of scores below which no sum of float32 probabilities underflows to 0."""


@dataclass(frozen=True, slots=True)
class MarginScores:
    """Tensors of scores, and the links from them to the response.

    Attributes
    ----------
    parts : tuple of OutputTensor
        The response's parts, with the tensors of scores.
    links : tuple of str
        LOGISTIC or SOFTMAX, one per part.
    """

    parts: tuple[OutputTensor, ...]
    links: tuple[str, ...]


def read_margin(
    graph: Graph, parts: tuple[OutputTensor, ...], column_counts: tuple[int, ...]
) -> MarginScores:
    """Extend the graph by the scores behind each part of the response.

    Two probabilities become (−score, score), so that the logistic of a column is its probability.

    Raises
    ------
    ExplainError
        MARGIN_UNAVAILABLE with the reason.
    """
    scored = [_part(graph, *part) for part in zip(parts, column_counts, strict=True)]
    return MarginScores(tuple(part for part, _ in scored), tuple(link for _, link in scored))


def check_link(link: str, scores: Array, responses: Array) -> None:
    """Check that the link of the scores equals the responses, both (n_rows, n_columns).

    Raises
    ------
    ExplainError
        MARGIN_UNAVAILABLE if not: the runtime has a special case for this model.
    """
    moderate = np.abs(scores).max(axis=1) < _MODERATE
    rows = moderate if moderate.any() else ~moderate
    with np.errstate(all="ignore"):  # overflows are compared like other values
        candidates = _softmax(scores[rows]) if link == "SOFTMAX" else _logistic(scores[rows])
    for candidate in candidates:
        if np.allclose(candidate, responses[rows], rtol=0, atol=_TOLERANCE, equal_nan=True):
            return
    raise margin_unavailable(
        f"the runtime does not compute the model's answer as {link} of its sum"
    )


def margin_unavailable(reason: str) -> ExplainError:
    """Build the error MARGIN_UNAVAILABLE."""
    message = f"MARGIN is not available: {reason}. Use RESPONSE."
    return ExplainError(Reason.MARGIN_UNAVAILABLE, message, "scale")


def _logistic(scores: Array) -> tuple[Array, ...]:
    """Return the probabilities, and also divided by their sum as in one-versus-rest classifiers."""
    probabilities = 1 / (1 + np.exp(-scores.astype(np.float64)))
    return probabilities, probabilities / probabilities.sum(axis=1, keepdims=True)


def _softmax(scores: Array) -> tuple[Array, ...]:
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True),)


def _part(graph: Graph, part: OutputTensor, column_count: int) -> tuple[OutputTensor, str]:
    if part.is_label:
        raise margin_unavailable("the model gives only class labels")
    walk = _Walk(graph)
    scores = walk.scores(part.tensor)
    if len(walk.links) != 1:
        raise margin_unavailable(f"the model mixes {' and '.join(sorted(walk.links))}")
    (link,) = walk.links
    if link == "SOFTMAX" and column_count == 2:
        swapped = graph.add("Gather", [scores, graph.add_constant(np.array([1, 0]))], axis=1)
        scores, link = graph.add("Sub", [scores, swapped]), "LOGISTIC"
    return replace(part, tensor=scores), link


class _Walk:
    """Backward walk from a response; `links` collects the links that it ends in."""

    def __init__(self, graph: Graph) -> None:
        self.links = set[str]()
        self._graph = graph
        self._scores_by_tensor: dict[str, str] = {}

    def scores(self, tensor: str) -> str:
        """Return the tensor of scores behind a tensor of probabilities."""
        if tensor not in self._scores_by_tensor:
            self._scores_by_tensor[tensor] = self._behind(tensor, self._graph.producer(tensor))
        return self._scores_by_tensor[tensor]

    def _behind(self, tensor: str, node: NodeProto | None) -> str:
        if node is None:
            raise margin_unavailable("the model gives back what it was fed")
        if node.op_type in LINKED:
            return self._ensemble(tensor, node)
        if node.op_type in _ACTIVATIONS:
            return self._activation(node)
        if node.op_type in PASSING:
            return self._graph.add_copy(node, [self.scores(node.input[0]), *node.input[1:]])
        if node.op_type == "Concat":
            return self._graph.add_copy(node, [self.scores(name) for name in node.input])
        if node.op_type == "Sub" and is_all_ones(self._graph, node.input[0]):
            return self._graph.add("Neg", [self.scores(node.input[1])])
        if (source := self._proportional_input(node)) is not None:
            return self.scores(source)
        raise margin_unavailable(answer_refusal(self._graph, tensor))

    def _ensemble(self, tensor: str, node: NodeProto) -> str:
        link = link_function(node)
        if link is None or tensor == node.output[0] != node.output[-1]:
            raise margin_unavailable(answer_refusal(self._graph, tensor))
        self.links.add(link)
        try:
            return add_scores(self._graph, node)
        except RefusedError as refused:
            raise margin_unavailable(refused.reason) from refused

    def _activation(self, node: NodeProto) -> str:
        refusal = obstacle_refusal(self._graph, node.input[0])
        if refusal:
            raise margin_unavailable(refusal)
        self.links.add(_ACTIVATIONS[node.op_type])
        return node.input[0]

    def _proportional_input(self, node: NodeProto) -> str | None:
        """Return the input of a node that only scales probabilities; None for other nodes."""
        graph = self._graph
        if node.op_type == "Abs":
            return node.input[0]
        if node.op_type == "Normalizer" and attribute(node, "norm", "MAX") == "L1":
            return node.input[0]
        if node.op_type == "Mul":
            ones = [is_all_ones(graph, name) for name in node.input]
            return node.input[1 - ones.index(True)] if any(ones) else None
        if node.op_type == "Div" and self._is_sum_of(node.input[1], node.input[0]):
            return node.input[0]
        return None

    def _is_sum_of(self, total: str, tensor: str) -> bool:
        """Check that `total` is the sum of `tensor`, or of its absolute values."""
        node = self._graph.producer(total)
        if node is None or node.op_type not in {"ReduceSum", "ReduceL1"}:
            return False
        added = self._graph.producer(node.input[0])
        inside = added.input[0] if added is not None and added.op_type == "Abs" else node.input[0]
        return inside == tensor
