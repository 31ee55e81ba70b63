"""Trees behind a model's prediction columns: sums over trees, with linear functions or a link."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.analysis.margin import read_margin
from onnxplain_server.adapters.onnx.analysis.outputs import OutputTensor
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.trees.reading.links import (
    LinkedEnsemble,
    LinkFunction,
    Trees,
    read_exponentials,
)
from onnxplain_server.trees.reading.refusal import Refusal, RefusedError
from onnxplain_server.trees.reading.sums.with_trees import EnsembleWithLinear, read_sums


def read_trees(
    proto: ModelProto, parts: Sequence[OutputTensor], counts: tuple[int, ...], width: int | None
) -> Trees | Refusal:
    """Read a model as sums over trees and linear functions, or as a link of sums over trees.

    Parameters
    ----------
    proto : ModelProto
        Cut to its outputs.
    parts : sequence of OutputTensor
        Tensors of the outputs.
    counts : tuple of int
        Number of columns per part.
    width : int or None
        Number of columns of the input matrix, where the model does not declare it.

    Returns
    -------
    Ensemble, EnsembleWithLinear, LinkedEnsemble or Refusal
        The refusal says why the outputs are no sums. A link is read from the graph, without
        a check against the runtime.
    """
    sums = read_sums(proto, width)
    if not isinstance(sums, Refusal):
        return sums
    if any(node.op_type == "Exp" for node in proto.graph.node):
        exponentials = read_exponentials(proto, width)
        if isinstance(exponentials, LinkedEnsemble):
            return exponentials
        sums = exponentials
    return _before_link(proto, parts, counts, width) or sums


def _before_link(
    proto: ModelProto, parts: Sequence[OutputTensor], counts: tuple[int, ...], width: int | None
) -> LinkedEnsemble | Refusal | None:
    """Read the trees of the model's scores; None if it has no scores."""
    copy = ModelProto()
    copy.CopyFrom(proto)  # the graph is extended
    graph = Graph(copy)
    try:
        margin = read_margin(graph, tuple(parts), counts)
    except ExplainError as unavailable:
        refused = unavailable.__cause__
        return Refusal(refused.reason) if isinstance(refused, RefusedError) else None
    scores = read_sums(graph.cut(part.tensor for part in margin.parts), width)
    if isinstance(scores, Refusal):
        return scores
    if isinstance(scores, EnsembleWithLinear):
        return Refusal("a link function follows a sum of its trees and linear functions")
    if len(parts) > 1 and set(margin.links) != {"LOGISTIC"}:
        return Refusal("each of the outputs is a softmax by itself; its MARGIN is a sum")
    return LinkedEnsemble(scores, LinkFunction(margin.links[0]))
