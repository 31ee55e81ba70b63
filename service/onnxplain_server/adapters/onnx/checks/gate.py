"""What a model must keep to before onnxruntime sees it.

onnxruntime loads a chain of 10,000 nodes in 45 s, 2 kB of nested functions not within 40 s, and
dies of a tree that is 20,000 levels deep. Loading cannot be interrupted, so such models are
refused by looking at them; the limits leave every measured danger a factor of 2 or more away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onnx import GraphProto, ModelProto

from onnxplain_server.adapters.onnx.checks.allowed_operators import refuse_unknown_operators
from onnxplain_server.adapters.onnx.checks.attribute_lengths import check_controls, check_widths
from onnxplain_server.adapters.onnx.checks.external_data import refuse_external_data
from onnxplain_server.adapters.onnx.checks.tree_consistency import check_forests
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.onnx_nodes import subgraphs


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The most complex model that is loaded.

    Attributes
    ----------
    node_count : int
        Nodes in all graphs together. Loading takes time with their square: 4 s for 2,000.
    output_count : int
        Outputs of the model; each may have many columns.
    graph_depth : int
        Graphs inside graphs, as branches and loops have them; the main graph is the first.
    tree_depth : int
        Levels of a tree. onnxruntime recurses and was seen to die beyond 10,000.
    target_count : int
        Columns that a tree ensemble may claim to give.
    tensor_count : int
        Initializers in all graphs together; two million empty ones, 4 MB, kill the runtime.
    """

    node_count: int = 2_000
    output_count: int = 64
    graph_depth: int = 8
    tree_depth: int = 1_024
    target_count: int = 10_000
    tensor_count: int = 20_000


DEFAULT_LIMITS = ModelLimits()


def check(model: ModelProto, limits: ModelLimits) -> None:
    """Refuse what onnxruntime must not see.

    Raises
    ------
    ExplainError
        MODEL_TOO_COMPLEX with what was found and the limit, EXTERNAL_DATA,
        UNSUPPORTED_MODEL for functions and operators, INVALID_MODEL for trees that
        contradict themselves.
    """
    _check_sizes(model.graph, limits)
    refuse_external_data(model)
    _refuse_functions(model)
    refuse_unknown_operators(model)
    check_widths(model)
    check_controls(model)
    check_forests(model, limits.tree_depth, limits.target_count)


def _refuse_functions(model: ModelProto) -> None:
    """Functions expand without bound: 10 levels of 9 calls each are 3,486,784,401 nodes."""
    if model.functions:
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            f"The model defines {len(model.functions):,} functions; this server takes none. "
            "Inline them (onnx.inliner.inline_local_functions).",
            "model",
        )


def _check_sizes(graph: GraphProto, limits: ModelLimits) -> None:
    _at_most(len(graph.output), limits.output_count, "outputs")
    node_count = tensor_count = 0
    for depth, inner in _levels(graph):
        _at_most(depth, limits.graph_depth, "graphs inside each other")
        node_count += len(inner.node)
        _at_most(node_count, limits.node_count, "nodes")
        tensor_count += len(inner.initializer) + len(inner.sparse_initializer)
        _at_most(tensor_count, limits.tensor_count, "initializers")


def _levels(graph: GraphProto) -> Iterator[tuple[int, GraphProto]]:
    """The graph and all inside it, each with its level from 1; without recursion."""
    waiting = [(1, graph)]
    while waiting:
        depth, found = waiting.pop()
        yield depth, found
        waiting.extend((depth + 1, inner) for node in found.node for inner in subgraphs(node))


def _at_most(found: int, limit: int, what: str) -> None:
    if found > limit:
        raise ExplainError(
            Reason.MODEL_TOO_COMPLEX,
            f"The model has {found:,} {what} or more; this server takes at most {limit:,}.",
            "model",
        )
