"""Rest of a graph: what follows the tensors of a frontier, as a model that takes these."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

from onnxplain_server.adapters.onnx.analysis.graph import Graph
from onnxplain_server.adapters.onnx.terms.operators import MOVES
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator
from onnxplain_server.trees.reading.onnx_nodes import (
    ML,
    attribute,
    link_name,
    nodes_within,
    tensors_read,
)
from onnxplain_server.trees.reading.refusal import RefusedError
from onnxplain_server.wire.requests.partial_copy import copy_without


def rest_of(graph: Graph, outputs: Sequence[str], inputs: Sequence[ValueInfoProto]) -> ModelProto:
    """Return the model from some tensors to outputs.

    Raises
    ------
    RefusedError
        If a node gives one of the tensors and another that the outputs need, or if a tensor is an
        output, which the runtime would leave in its own memory.
    """
    starts = {value.name for value in inputs}
    if starts.intersection(outputs):
        raise RefusedError("nothing follows its first layers")
    nodes = _behind(graph, outputs, starts)
    if any(starts.intersection(node.output) for node in nodes):
        raise RefusedError("a node of its first layer gives more than the layer")
    read = {name for node in nodes for name in tensors_read(node)} | set(outputs)
    rest: ModelProto = copy_without(graph.model, ("graph",))
    skipped = ("node", "output", "input", "initializer", "value_info")
    rest.graph.CopyFrom(copy_without(graph.model.graph, skipped))
    rest.graph.node.extend(nodes)
    rest.graph.input.extend(inputs)
    kept = [each for each in graph.model.graph.initializer if each.name in read]
    rest.graph.initializer.extend(kept)
    names = {each.name for each in kept}
    rest.graph.input.extend(each for each in graph.model.graph.input if each.name in names)
    declared = {value.name: value for value in graph.outputs}
    for name in outputs:
        output = rest.graph.output.add(name=name)
        if name in declared and declared[name].type.HasField("tensor_type"):
            output.type.tensor_type.elem_type = declared[name].type.tensor_type.elem_type
    return rest


def _behind(graph: Graph, outputs: Sequence[str], starts: set[str]) -> list[NodeProto]:
    """Return the nodes between some tensors and outputs, in the order of the graph."""
    waiting, seen, needed = list(outputs), set(starts), set[str]()
    while waiting:
        tensor = waiting.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        node = graph.producer(tensor)
        if node is not None and _key(node) not in needed:
            needed.add(_key(node))
            waiting.extend(tensors_read(node))
    return [node for node in graph.model.graph.node if _key(node) in needed]


def _key(node: NodeProto) -> str:
    """Identify a node by its first named output."""
    return next(filter(None, node.output), "")


_CONTINUOUS = frozenset(
    {
        *("Relu", "Sigmoid", "Tanh", "Elu", "Selu", "Celu", "LeakyRelu", "PRelu", "Softplus"),
        *("Softsign", "HardSigmoid", "HardSwish", "Gelu", "Mish", "Erf", "Exp", "Abs", "Neg"),
        *("Sin", "Cos", "Atan", "Add", "Sub", "Mul", "Div", "Min", "Max", "Mean", "Sum", "Clip"),
        *("Sqrt", "Pow", "Log", "Reciprocal", "Softmax", "LogSoftmax", "MatMul", "Gemm", "Einsum"),
        *("Conv", "BatchNormalization", "LayerNormalization", "InstanceNormalization"),
        *("Dropout", "Expand", "Tile", "Pad", "GlobalAveragePool", "AveragePool", "MaxPool"),
        *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"),
        *("ReduceSumSquare", "ReduceLogSumExp", "Shape", "Constant", "ConstantOfShape", "Gather"),
        *("ZipMap", "Normalizer", "Scaler", "LinearRegressor", "ArrayFeatureExtractor"),
    }
)
"""Operators whose results change little where their inputs do, as long as these are no integers
that come from them."""
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})


def is_continuous(model: ModelProto) -> bool:
    """Return whether small changes of a model's inputs change its outputs little, by its operators.

    Nodes that compute shapes are left out of account: they do not depend on values.
    """
    graph = Graph(model)
    varying = {value.name for value in graph.inputs}
    for node in nodes_within(model.graph):
        if not varying.intersection(tensors_read(node)) or node.op_type == "Shape":
            continue
        if not _is_continuous(graph, node):
            return False
        varying.update(node.output)
    return True


def _is_continuous(graph: Graph, node: NodeProto) -> bool:
    if node.op_type == "Cast":
        return attribute(node, "to", 0) in _FLOATS
    if node.domain == ML and node.op_type == "LinearClassifier":
        return link_name(node) in {"NONE", "LOGISTIC", "SOFTMAX"}
    return node.op_type in _CONTINUOUS or RowOperator(graph, node).name in MOVES
