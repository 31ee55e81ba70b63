"""Gate for untrusted models: static checks and complexity limits before onnxruntime loads one.

onnxruntime takes 45 s for a chain of 10,000 nodes, over 40 s for 2 kB of nested functions, and
crashes on a tree with 20,000 levels. Loading cannot be interrupted, so such models are refused
by inspection; the limits keep a factor of 2 or more from every measured failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, ModelProto

from onnxplain_server.adapters.onnx.checks.allowed_operators import refuse_unknown_operators
from onnxplain_server.adapters.onnx.checks.attribute_lengths import check_controls, check_widths
from onnxplain_server.adapters.onnx.checks.external_data import refuse_external_data
from onnxplain_server.adapters.onnx.checks.tree_consistency import TreeSizes, check_forests
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.trees.reading.onnx_nodes import subgraphs


def check(model: ModelProto, limits: ModelLimits) -> None:
    """Run all static checks but that of trees.

    Raises
    ------
    ExplainError
        MODEL_TOO_COMPLEX with the count and the limit, EXTERNAL_DATA, UNSUPPORTED_MODEL
        for functions and operators, INVALID_MODEL for inconsistent attributes.
    """
    _check_sizes(model.graph, limits)
    refuse_external_data(model)
    _refuse_functions(model)
    refuse_unknown_operators(model)
    check_widths(model)
    check_controls(model)


def check_trees(model: ModelProto, limits: ModelLimits) -> TreeSizes:
    """Check the trees, and return their sizes; see `check_forests`."""
    return check_forests(model, limits.tree_depth, limits.target_count)


def _refuse_functions(model: ModelProto) -> None:
    """Refuse functions: they expand without bound, 10 levels of 9 calls to 3,486,784,401 nodes."""
    if model.functions:
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            f"The model defines {len(model.functions):,} functions; this server takes none. "
            "Inline them (onnx.inliner.inline_local_functions).",
            "model",
        )


def _check_sizes(graph: GraphProto, limits: ModelLimits) -> None:
    _check_limit(len(graph.output), limits.output_count, "outputs")
    node_count = tensor_count = 0
    for depth, inner in _levels(graph):
        _check_limit(depth, limits.graph_depth, "graphs inside each other")
        node_count += len(inner.node)
        _check_limit(node_count, limits.node_count, "nodes")
        tensor_count += len(inner.initializer) + len(inner.sparse_initializer)
        _check_limit(tensor_count, limits.tensor_count, "initializers")


def _levels(graph: GraphProto) -> Iterator[tuple[int, GraphProto]]:
    """Yield the graph and its subgraphs with their level from 1, without recursion."""
    stack = [(1, graph)]
    while stack:
        depth, current = stack.pop()
        yield depth, current
        stack.extend((depth + 1, inner) for node in current.node for inner in subgraphs(node))


def _check_limit(count: int, limit: int, noun: str) -> None:
    if count > limit:
        raise ExplainError(
            Reason.MODEL_TOO_COMPLEX,
            f"The model has {count:,} {noun} or more; this server takes at most {limit:,}.",
            "model",
        )
