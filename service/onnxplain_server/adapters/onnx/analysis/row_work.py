"""Work of a model for one row: its operations, counted in the graph, as time on a usual processor.

A coarse count, which is good to some factor: sizes of shapes that only a run would tell count as
one. It is the same wherever and whenever the model is read.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Mapping

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, shape_inference

from onnxplain_server.adapters.onnx.packing import without_lists
from onnxplain_server.trees.reading.onnx_nodes import TREE_OPERATORS, Attributes, subgraphs

_NODE, _ELEMENT, _PRODUCT, _STEP = 8e-9, 1e-9, 0.25e-9, 4e-9
"""Seconds of a node, of an element of its input or output, of a product with its sum, and of a
step down a tree."""
_CALL = 15e-6
"""Seconds of a call of the runtime, which models that take no batches need for each row."""
_LEAST = 0.5e-6
"""Seconds of a row beside the model: it is put together, and averaged."""
_ROUNDS = 16
"""Rounds of a `Loop`, whose number only a run would tell."""
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_PRODUCTS = ("MatMul", "Gemm", "Conv", "Attention", "Einsum")
"""In the names of operators, those of the runtime too, that multiply by a matrix of weights."""
_NUMBER_LISTS = ("support_vectors", "coefficients", "vectors_per_class")

Sizes = Mapping[str, tuple[int, ...]]
"""Shapes of tensors for one row, by name."""


def row_seconds(model: ModelProto, *, is_batched: bool) -> float:
    """Return the seconds that one thread takes for a row in a large call, by the graph alone.

    Parameters
    ----------
    model : ModelProto
        Cut to its outputs.
    is_batched : bool
        Whether the model evaluates many rows in one call.
    """
    inferred = shape_inference.infer_shapes(without_lists(model)).graph
    seconds = _graph_seconds(model.graph, inferred, ChainMap())
    return _LEAST + seconds + (0.0 if is_batched else _CALL)


def _shape(value: ValueInfoProto) -> tuple[int, ...]:
    """Return a shape whose unknown sizes, like the number of rows, are 1."""
    dimensions = value.type.tensor_type.shape.dim
    return tuple(max(dimension.dim_value, 1) for dimension in dimensions)


def _graph_seconds(
    graph: GraphProto, inferred: GraphProto, outer: ChainMap[str, tuple[int, ...]]
) -> float:
    """Sum over the nodes of a graph, whose shapes are those of an equal one and of outer ones."""
    constants = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    values = (*inferred.input, *inferred.value_info, *inferred.output)
    sizes = outer.new_child({value.name: _shape(value) for value in values} | constants)
    seconds = 0.0
    for node, same in zip(graph.node, inferred.node, strict=True):
        bodies = zip(subgraphs(node), subgraphs(same), strict=True)
        within = sum(_graph_seconds(body, known, sizes) for body, known in bodies)
        seconds += _node_seconds(node, sizes, constants) + _rounds(node, sizes) * within
    return seconds


def _rounds(node: NodeProto, sizes: Sizes) -> int:
    """Return how often a node evaluates its subgraphs."""
    if node.op_type == "If":
        return 1
    if node.op_type != "Scan":
        return _ROUNDS
    attributes = Attributes(node)
    scanned = [sizes.get(name, ()) for name in node.input][
        -attributes.value("num_scan_inputs", 1) :
    ]
    axis = int(next(iter(attributes.integers("scan_input_axes")), 0))
    return next(iter(scanned[0][axis:]), 1)


def _node_seconds(node: NodeProto, sizes: Sizes, constants: Sizes) -> float:
    if node.op_type == "Constant":
        return 0.0
    if node.op_type in TREE_OPERATORS:
        return _NODE + _STEP * _tree_steps(node)
    moved = [name for name in (*node.input, *node.output) if name not in constants]
    elements = sum(math.prod(sizes.get(name, ())) for name in moved)
    return _NODE + _ELEMENT * elements + _PRODUCT * _products(node, sizes, constants)


def _tree_steps(node: NodeProto) -> float:
    """Return the steps of a row down all trees, as if these were balanced."""
    attributes = Attributes(node)
    node_count = len(attributes.integers("nodes_featureids"))
    trees = len(set(attributes.integers("nodes_treeids").tolist()))
    trees = max(trees, len(attributes.integers("tree_roots")), 1)
    return trees * (1 + math.log2(1 + node_count / trees))


def _products(node: NodeProto, sizes: Sizes, constants: Sizes) -> float:
    """Return the products of a node: each element of its output with a column of its weights."""
    lists = (content for content in node.attribute if content.name in _NUMBER_LISTS)
    if not any(word in node.op_type for word in (*_PRODUCTS, *_RECURRENT)):
        return sum(max(len(content.floats), _tensor_size(content.t)) for content in lists)
    weights = [constants[name] for name in node.input if len(constants.get(name, ())) > 1]
    output = max((math.prod(sizes.get(name, ())) for name in node.output), default=1)
    if node.op_type in _RECURRENT:
        length = max(sizes.get(node.input[0], (1,))[:1], default=1)
        return length * sum(map(math.prod, weights))
    if weights:
        shape = max(weights, key=math.prod)
        is_first = "Conv" in node.op_type or Attributes(node).value("transB", 0)
        channels = max(shape[0] if is_first else shape[-1], 1)
        return max(math.prod(shape), output * math.prod(shape) / channels)
    return output * max(sizes.get(node.input[0], (1,))[-1:], default=1)


def _tensor_size(tensor: TensorProto) -> int:
    return math.prod(tensor.dims) if tensor.dims else 0
