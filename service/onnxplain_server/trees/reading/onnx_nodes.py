"""ONNX node reader: attributes, constants and subgraphs, for the trees engine and the adapter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import get_attribute_value
from onnx.numpy_helper import to_array

from onnxplain_server.core.arrays import Array, Vector

ML = "ai.onnx.ml"
STANDARD_DOMAINS = frozenset({"", "ai.onnx", ML})
TREE_OPERATORS = frozenset({"TreeEnsembleRegressor", "TreeEnsembleClassifier", "TreeEnsemble"})

_POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""In the order of the numbers that TreeEnsemble (ai.onnx.ml 5) has in place of names."""


class Attributes:
    """Attributes of a node, by name."""

    def __init__(self, node: NodeProto) -> None:
        self._by_name = {attribute.name: attribute for attribute in node.attribute}

    def value(self, name: str, default: Any = None) -> Any:
        """Return the value as the attribute's type has it; text as str."""
        return _value(self._by_name[name]) if name in self._by_name else default

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the first of these lists that is not empty, as text; () where all are empty."""
        lists = (self.value(name, ()) for name in names)
        return tuple(map(str, next((values for values in lists if len(values)), ())))

    def integers(self, name: str) -> npt.NDArray[np.int64]:
        """Return a list of integers; empty where the node has none."""
        attribute = self._by_name.get(name)
        return np.array([] if attribute is None else attribute.ints, dtype=np.int64)

    def numbers(self, *names: str) -> Vector:
        """Return the first of these lists or tensors that exists, as exact float64."""
        for attribute in filter(None, map(self._by_name.get, names)):
            has_tensor = attribute.HasField("t")
            values = to_array(attribute.t) if has_tensor else np.array(attribute.floats)
            return np.asarray(values, dtype=np.float64).reshape(-1)
        return np.array([], dtype=np.float64)


def attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    """Return the value of one attribute of a node; text as str."""
    return Attributes(node).value(name, default)


def post_transform(node: NodeProto) -> str:
    """Return the link after a node's sum: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT."""
    return _enum_name(attribute(node, "post_transform", "NONE"), _POST_TRANSFORMS)


def aggregate_function(node: NodeProto) -> str:
    """Return what a tree operator does with its trees: SUM, AVERAGE, MIN or MAX."""
    return _enum_name(attribute(node, "aggregate_function", "SUM"), _AGGREGATES)


def constant_value(node: NodeProto) -> Array | None:
    """Return the tensor of a Constant node; None for other operators and sparse tensors."""
    if node.op_type != "Constant" or len(node.attribute) != 1:
        return None
    (content,) = node.attribute
    if content.type == AttributeProto.SPARSE_TENSOR:
        return None
    value = _value(content)
    return to_array(value) if isinstance(value, TensorProto) else np.array(value)


def required_inputs(graph: GraphProto) -> tuple[ValueInfoProto, ...]:
    """Return the inputs that callers must feed: those without an initializer."""
    initialized = {tensor.name for tensor in graph.initializer}
    initialized |= {sparse.values.name for sparse in graph.sparse_initializer}
    return tuple(value for value in graph.input if value.name not in initialized)


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs in a node's attributes: branches and loop bodies."""
    for content in node.attribute:
        yield from content.graphs
        if content.HasField("g"):
            yield content.g


def nodes_within(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield every node of a graph and of its subgraphs, depth first."""
    for node in graph.node:
        yield node
        for subgraph in subgraphs(node):
            yield from nodes_within(subgraph)


def tensors_read(node: NodeProto) -> Iterator[str]:
    """Yield the names of the tensors that a node and its subgraphs read."""
    yield from node.input
    for subgraph in subgraphs(node):
        yield from (name for inner in nodes_within(subgraph) for name in inner.input)
        yield from (value.name for value in subgraph.output)


def _value(content: AttributeProto) -> Any:
    value = get_attribute_value(content)
    if content.type == AttributeProto.STRING:
        return value.decode()
    if content.type == AttributeProto.STRINGS:
        return [text.decode() for text in value]
    return value


def _enum_name(value: object, names: Sequence[str]) -> str:
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return str(value)
