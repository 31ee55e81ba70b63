"""Which of a model's columns can reach a tensor: read from the graph, on the safe side.

A tensor that arranges columns is tracked column by column; of any other, it is only known from
which columns it is computed. A column counts as reaching a result unless the graph shows that it
does not: an input that no node on the way uses, a column of a matrix that is never picked, that
no tree compares, or whose coefficients are all exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import (
    ML,
    TREE_OPERATORS,
    attribute,
    tensors_read,
)

Reach = npt.NDArray[np.bool_]
"""(n_features,), or tracked, (n_columns, n_features): whether a feature may be in it."""


def read_reach(proto: ModelProto, n_features: int) -> Mapping[str, Reach]:
    """Follow a graph from its inputs.

    Parameters
    ----------
    proto : ModelProto
    n_features : int
        Columns of its matrix, or number of its inputs.

    Returns
    -------
    mapping of tensor name to (n_features,)
        Which features the tensor may depend on.

    Raises
    ------
    ValueError
        Where nodes are not in the order in which they are computed. Others for a graph that
        contradicts itself.
    """
    graph = Graph(proto)
    tracked = _inputs(graph, n_features)
    for node in proto.graph.node:
        if any(
            graph.producer(name) is not None and name not in tracked for name in tensors_read(node)
        ):
            raise ValueError("nodes are not in the order in which they are computed")
        follow = _FOLLOWED.get((_domain(node), node.op_type), _unknown)
        tracked |= zip(node.output, follow(graph, node, tracked), strict=True)
    return {name: _total(reach) for name, reach in tracked.items()}


def _inputs(graph: Graph, n_features: int) -> dict[str, Reach]:
    every = np.eye(n_features, dtype=bool)
    if len(graph.inputs) == 1:
        return {graph.inputs[0].name: every}
    return {value.name: every[[j]] for j, value in enumerate(graph.inputs)}


def _domain(node: NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _total(reach: Reach) -> Reach:
    total: Reach = reach if reach.ndim == 1 else np.any(reach, axis=0, keepdims=True)[0]
    return total


def _unknown(_graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
    """Any output of any operator may depend on all that the operator reads."""
    known = [_total(tracked[name]) for name in tensors_read(node) if name in tracked]
    n_features = len(_total(next(iter(tracked.values()))))
    total = np.any([np.zeros(n_features, dtype=bool), *known], axis=0)
    return [total] * len(node.output)


Follow = Callable[[Graph, NodeProto, Mapping[str, Reach]], list[Reach]]


def _arranging(arrange: Callable[[Graph, NodeProto, Reach], Reach | None]) -> Follow:
    """Follow a node whose first input is tracked; None from `arrange` where it cannot be told."""

    def follow(graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
        taken = tracked.get(node.input[0])
        others = [name for name in node.input[1:] if name in tracked and tracked[name].any()]
        arranged = None
        if taken is not None and taken.ndim == 2 and not others:
            arranged = arrange(graph, node, taken)
        if arranged is None:
            return _unknown(graph, node, tracked)
        return [arranged] * len(node.output)

    return follow


def _kept(_graph: Graph, _node: NodeProto, taken: Reach) -> Reach:
    return taken


def _reshaped(_graph: Graph, _node: NodeProto, taken: Reach) -> Reach | None:
    return taken if len(taken) == 1 else None


def _by_constant(graph: Graph, node: NodeProto, taken: Reach) -> Reach | None:
    """Arithmetic with a number, or with one number per column."""
    constant = graph.constant(node.input[1])
    if constant is None:
        return None
    is_row = constant.ndim <= 2 and constant.shape[-1:] == (len(taken),)
    return taken if constant.size == 1 or (is_row and constant.size == len(taken)) else None


def _gathered(graph: Graph, node: NodeProto, taken: Reach) -> Reach | None:
    along = 1 if node.op_type == "ArrayFeatureExtractor" else attribute(node, "axis", 0)
    chosen = graph.constant(node.input[1])
    return None if chosen is None or along not in {1, -1} else _picked(taken, chosen)


def _picked(taken: Reach, chosen: Array) -> Reach | None:
    positions = chosen.reshape(-1).astype(np.intp)
    if np.any((positions < -len(taken)) | (positions >= len(taken))):
        return None
    return taken[positions]


def _sliced(graph: Graph, node: NodeProto, taken: Reach) -> Reach | None:
    """A range of columns: Slice with constants, along columns alone."""
    given = [graph.constant(name) for name in node.input[1:]]
    numbers = [int(part.item()) for part in given if part is not None and part.size == 1]
    if len(numbers) < max(len(given), 3):
        return None
    start, end, along, step = (*numbers, 1)[:4]
    return taken[start:end:step] if along in {1, -1} and step > 0 else None


def _split(graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
    """Ranges of columns of which the sizes are written down."""
    taken = tracked.get(node.input[0])
    sizes = graph.constant(node.input[1]) if len(node.input) > 1 else None
    sizes = np.array(attribute(node, "split", ())) if sizes is None else sizes
    if taken is None or taken.ndim == 1 or attribute(node, "axis", 0) not in {1, -1}:
        return _unknown(graph, node, tracked)
    if len(sizes) != len(node.output) or sizes.sum() != len(taken):
        return _unknown(graph, node, tracked)
    return np.split(taken, np.cumsum(sizes)[:-1])


def _concatenated(graph: Graph, node: NodeProto, tracked: Mapping[str, Reach]) -> list[Reach]:
    parts = [tracked.get(name) for name in node.input]
    columns = [part for part in parts if part is not None and part.ndim == 2]
    if len(columns) < len(parts) or attribute(node, "axis", 1) not in {1, -1}:
        return _unknown(graph, node, tracked)
    return [np.concatenate(columns)]


def _compared(_graph: Graph, node: NodeProto, taken: Reach) -> Reach | None:
    """What trees compare: an inner node's column."""
    columns = np.array(attribute(node, "nodes_featureids", ()), dtype=np.intp)
    if node.op_type != "TreeEnsemble":
        modes = np.array(attribute(node, "nodes_modes", ()))
        columns = columns[modes != "LEAF"] if len(modes) == len(columns) else columns
    picked = _picked(taken, np.unique(columns))
    return None if picked is None else _total(picked)


def _weighed(_graph: Graph, node: NodeProto, taken: Reach) -> Reach | None:
    """What a linear map of ai.onnx.ml gives a coefficient other than 0."""
    coefficients = np.array(attribute(node, "coefficients", ()))
    if not len(coefficients) or len(coefficients) % len(taken):
        return None
    return _with_weight(taken, coefficients.reshape(-1, len(taken)).T)


def _multiplied(graph: Graph, node: NodeProto, taken: Reach) -> Reach | None:
    """What a constant matrix gives a weight other than 0: MatMul, or Gemm."""
    matrix = graph.constant(node.input[1])
    if matrix is None or matrix.ndim != 2 or attribute(node, "transA", 0):
        return None
    if attribute(node, "transB", 0):
        matrix = matrix.T
    return _with_weight(taken, matrix) if len(matrix) == len(taken) else None


def _with_weight(taken: Reach, weights: Array) -> Reach:
    """Features with any weight, (n_columns, n_results), but 0; NaN is one."""
    return _total(taken[(weights != 0).any(axis=1)])


_FOLLOWED: Mapping[tuple[str, str], Follow] = {
    **{("", name): _arranging(_kept) for name in ("Identity", "Cast", "Neg", "Abs", "Relu")},
    **{(ML, name): _arranging(_kept) for name in ("Scaler", "Imputer")},
    **{("", name): _arranging(_by_constant) for name in ("Add", "Sub", "Mul", "Div")},
    **{("", name): _arranging(_reshaped) for name in ("Reshape", "Flatten", "Unsqueeze")},
    **{("", name): _arranging(_multiplied) for name in ("MatMul", "Gemm")},
    **{(ML, name): _arranging(_weighed) for name in ("LinearRegressor", "LinearClassifier")},
    **{(ML, name): _arranging(_compared) for name in TREE_OPERATORS},
    ("", "Gather"): _arranging(_gathered),
    (ML, "ArrayFeatureExtractor"): _arranging(_gathered),
    ("", "Slice"): _arranging(_sliced),
    ("", "Split"): _split,
    ("", "Concat"): _concatenated,
}
