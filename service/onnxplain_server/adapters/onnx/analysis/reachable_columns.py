"""Reachability of a model's columns: a conservative data-flow analysis of the graph.

A tensor that only arranges columns is tracked column by column, any other one as a whole. A column
reaches a result unless the graph proves that it does not: an input that no node on the way reads,
a column of a matrix that is never selected, that no tree compares, or whose coefficients are all
exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, ValueInfoProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.large_values import NO_VALUES
from onnxplain_server.core.arrays import Array, sorted_distinct
from onnxplain_server.trees.reading.onnx_nodes import (
    ML,
    TREE_OPERATORS,
    Attributes,
    attribute,
    tensors_read,
)

Reach = npt.NDArray[np.bool_]
"""(n_features,), or if tracked (n_columns, n_features): whether a feature may influence it."""


def read_reach(
    proto: ModelProto, n_features: int, values: Mapping[str, Array] = NO_VALUES
) -> Mapping[str, Reach]:
    """Propagate reachability through a graph from its inputs.

    Parameters
    ----------
    proto : ModelProto
    n_features : int
        Columns of the input matrix, or number of inputs.
    values : mapping of name to array
        Of its tensors that are apart.

    Returns
    -------
    mapping of tensor name to (n_features,)
        Features that the tensor may depend on.

    Raises
    ------
    ValueError
        If the nodes are not in topological order. Other errors for inconsistent graphs.
    """
    graph = Graph(proto, values)
    tracked = _inputs(graph, n_features)
    for node in proto.graph.node:
        if any(
            graph.producer(name) is not None and name not in tracked for name in tensors_read(node)
        ):
            raise ValueError("nodes are not in topological order")
        follow = _FOLLOWED.get((_domain(node), node.op_type), _unknown)
        tracked |= zip(node.output, follow(graph, node, tracked), strict=True)
    return {name: _total(reach) for name, reach in tracked.items()}


def _inputs(graph: Graph, n_features: int) -> dict[str, Reach]:
    identity = np.eye(n_features, dtype=bool)
    if len(graph.inputs) == 1:
        return {graph.inputs[0].name: identity}
    ends = np.cumsum([_width(value) for value in graph.inputs])
    return {
        value.name: identity[end - _width(value) : end]
        for value, end in zip(graph.inputs, ends, strict=True)
    }


def _width(value: ValueInfoProto) -> int:
    """Return the columns of one of several inputs."""
    sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    return max(1, sizes[1]) if len(sizes) > 1 else 1


def _domain(node: NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _total(reach: Reach) -> Reach:
    total: Reach = reach if reach.ndim == 1 else np.any(reach, axis=0, keepdims=True)[0]
    return total


def _unknown(_graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
    """Handle other operators: each output may depend on every tensor that the node reads."""
    sources = [_total(tracked[name]) for name in tensors_read(node) if name in tracked]
    n_features = len(_total(next(iter(tracked.values()))))
    total = np.any([np.zeros(n_features, dtype=bool), *sources], axis=0)
    return [total] * len(node.output)


Follow = Callable[[Graph, NodeProto, Mapping[str, Reach]], list[Reach]]


def _arranging(arrange: Callable[[Graph, NodeProto, Reach], Reach | None]) -> Follow:
    """Handle a node with a tracked first input; as unknown if `arrange` returns None."""

    def follow(graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
        columns = tracked.get(node.input[0])
        others = [name for name in node.input[1:] if name in tracked and tracked[name].any()]
        arranged = None
        if columns is not None and columns.ndim == 2 and not others:
            arranged = arrange(graph, node, columns)
        if arranged is None:
            return _unknown(graph, node, tracked)
        return [arranged] * len(node.output)

    return follow


def _pass_through(_graph: Graph, _node: NodeProto, columns: Reach) -> Reach:
    return columns


def _reshaped(_graph: Graph, _node: NodeProto, columns: Reach) -> Reach | None:
    return columns if len(columns) == 1 else None


def _by_constant(graph: Graph, node: NodeProto, columns: Reach) -> Reach | None:
    """Handle arithmetic with a number, or with one number per column."""
    constant = graph.constant(node.input[1])
    if constant is None:
        return None
    is_row = constant.ndim <= 2 and constant.shape[-1:] == (len(columns),)
    return columns if constant.size == 1 or (is_row and constant.size == len(columns)) else None


def _gathered(graph: Graph, node: NodeProto, columns: Reach) -> Reach | None:
    axis = 1 if node.op_type == "ArrayFeatureExtractor" else attribute(node, "axis", 0)
    positions = graph.constant(node.input[1])
    return None if positions is None or axis not in {1, -1} else _select(columns, positions)


def _select(columns: Reach, positions: Array) -> Reach | None:
    indices = positions.reshape(-1).astype(np.intp)
    if np.any((indices < -len(columns)) | (indices >= len(columns))):
        return None
    return columns[indices]


def _sliced(graph: Graph, node: NodeProto, columns: Reach) -> Reach | None:
    """Handle Slice: a constant range of columns."""
    bounds = [graph.constant(name) for name in node.input[1:]]
    numbers = [int(part.item()) for part in bounds if part is not None and part.size == 1]
    if len(numbers) < max(len(bounds), 3):
        return None
    start, end, axis, step = (*numbers, 1)[:4]
    return columns[start:end:step] if axis in {1, -1} and step > 0 else None


def _split(graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
    """Handle Split into constant ranges of columns."""
    columns = tracked.get(node.input[0])
    sizes = graph.constant(node.input[1]) if len(node.input) > 1 else None
    sizes = np.array(attribute(node, "split", ())) if sizes is None else sizes
    if columns is None or columns.ndim == 1 or attribute(node, "axis", 0) not in {1, -1}:
        return _unknown(graph, node, tracked)
    if len(sizes) != len(node.output) or sizes.sum() != len(columns):
        return _unknown(graph, node, tracked)
    return np.split(columns, np.cumsum(sizes)[:-1])


def _concatenated(graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
    parts = [tracked.get(name) for name in node.input]
    columns = [part for part in parts if part is not None and part.ndim == 2]
    if len(columns) < len(parts) or attribute(node, "axis", 1) not in {1, -1}:
        return _unknown(graph, node, tracked)
    return [np.concatenate(columns)]


def _tree_ensemble(_graph: Graph, node: NodeProto, columns: Reach) -> Reach | None:
    """Handle trees: the columns that inner nodes compare."""
    attributes = Attributes(node)
    compared = attributes.integers("nodes_featureids")
    if node.op_type != "TreeEnsemble":
        is_leaf = attributes.codes("nodes_modes", {b"LEAF": 1}, 0) == 1
        compared = compared[~is_leaf] if len(is_leaf) == len(compared) else compared
    selected = _select(columns, sorted_distinct(compared))
    return None if selected is None else _total(selected)


def _linear_map(_graph: Graph, node: NodeProto, columns: Reach) -> Reach | None:
    """Handle linear maps of ai.onnx.ml: columns with a nonzero coefficient."""
    coefficients = np.array(attribute(node, "coefficients", ()))
    if not len(coefficients) or len(coefficients) % len(columns):
        return None
    return _with_weight(columns, coefficients.reshape(-1, len(columns)).T)


def _matrix_product(graph: Graph, node: NodeProto, columns: Reach) -> Reach | None:
    """Handle MatMul and Gemm by a constant matrix: columns with a nonzero weight."""
    matrix = graph.constant(node.input[1])
    if matrix is None or matrix.ndim != 2 or attribute(node, "transA", 0):
        return None
    if attribute(node, "transB", 0):
        matrix = matrix.T
    return _with_weight(columns, matrix) if len(matrix) == len(columns) else None


def _with_weight(columns: Reach, weights: Array) -> Reach:
    """Select features by weights, (n_columns, n_results): any nonzero one, NaN included."""
    return _total(columns[(weights != 0).any(axis=1)])


_FOLLOWED: Mapping[tuple[str, str], Follow] = {
    **{
        ("", name): _arranging(_pass_through) for name in ("Identity", "Cast", "Neg", "Abs", "Relu")
    },
    **{(ML, name): _arranging(_pass_through) for name in ("Scaler", "Imputer")},
    **{("", name): _arranging(_by_constant) for name in ("Add", "Sub", "Mul", "Div")},
    **{("", name): _arranging(_reshaped) for name in ("Reshape", "Flatten", "Unsqueeze")},
    **{("", name): _arranging(_matrix_product) for name in ("MatMul", "Gemm")},
    **{(ML, name): _arranging(_linear_map) for name in ("LinearRegressor", "LinearClassifier")},
    **{(ML, name): _arranging(_tree_ensemble) for name in TREE_OPERATORS},
    ("", "Gather"): _arranging(_gathered),
    (ML, "ArrayFeatureExtractor"): _arranging(_gathered),
    ("", "Slice"): _arranging(_sliced),
    ("", "Split"): _split,
    ("", "Concat"): _concatenated,
}
