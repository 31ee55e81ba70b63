"""ONNX node reader: attributes, constants and subgraphs, for the trees engine and the adapter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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

_SUMS = TREE_OPERATORS | {"LinearRegressor"}

_TREE_LISTS = ("nodes_", "target_", "class_", "leaf_", "tree_roots", "membership_")
"""Beginnings of the names of lists that describe trees, with a value per node or leaf."""
_LISTS = frozenset({AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS})

_POST_TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
"""By the numbers that TreeEnsemble (ai.onnx.ml 5) has in place of names, as onnxruntime reads them:
in ONNX's definition, 1 is SOFTMAX and 2 LOGISTIC."""
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""By number, likewise."""
_LABELS = ("classlabels_strings", "classlabels_int64s")


class Attributes:
    """Attributes of a node, by name.

    Lists of trees may be packed: see `is_tree_list`.
    """

    def __init__(self, node: NodeProto) -> None:
        self._by_name = {attribute.name: attribute for attribute in node.attribute}
        self._is_tree = node.op_type in TREE_OPERATORS

    def value(self, name: str, default: Any = None) -> Any:
        """Return the value as the attribute's type has it; text as str."""
        content = self._content(name)
        return default if content is None else _value(content)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the first of these lists that is not empty, as text; () where all are empty."""
        lists = (self.value(name, ()) for name in names)
        return tuple(map(str, next((values for values in lists if len(values)), ())))

    def integers(self, name: str) -> npt.NDArray[np.int64]:
        """Return a list of integers; empty where the node has none."""
        content = self._content(name)
        return np.array([] if content is None else content.ints, dtype=np.int64)

    def numbers(self, *names: str) -> Vector:
        """Return the first of these lists or tensors that exists, as exact float64."""
        for content in filter(None, map(self._content, names)):
            has_tensor = content.HasField("t")
            values = to_array(content.t) if has_tensor else np.array(content.floats)
            return np.asarray(values, dtype=np.float64).reshape(-1)
        return np.array([], dtype=np.float64)

    def array(self, name: str) -> Array:
        """Return a list or tensor of numbers; an empty list of integers where there is none.

        Raises
        ------
        TypeError
            If the attribute is of another type.
        """
        content = self._content(name)
        if content is None:
            return np.array([], dtype=np.int64)
        if content.type == AttributeProto.TENSOR:
            return np.atleast_1d(to_array(content.t))
        if content.type == AttributeProto.FLOATS:
            return np.array(content.floats, dtype=np.float64)
        if content.type == AttributeProto.INTS:
            return np.array(content.ints, dtype=np.int64)
        raise TypeError(f"{name} is no list of numbers")

    def count(self, name: str, text: bytes) -> int:
        """Count a text in a list."""
        content = self._content(name)
        return 0 if content is None else list(content.strings).count(text)

    def codes(self, name: str, codes: Mapping[bytes, int], other: int) -> npt.NDArray[np.uint8]:
        """Return the code of each text of a list; `other` for texts without one."""
        content = self._content(name)
        texts = () if content is None else content.strings
        table = defaultdict(lambda: other, codes)
        return np.fromiter(map(table.__getitem__, texts), np.uint8, len(texts))

    def _content(self, name: str) -> AttributeProto | None:
        """Return an attribute, unpacked."""
        content = self._by_name.get(name)
        if content is not None and self._is_tree and is_tree_list(content) and content.s:
            return AttributeProto.FromString(content.s)
        return content


def is_tree_list(content: AttributeProto) -> bool:
    """Return whether an attribute of a tree operator is a list with a value per node or leaf.

    Such a list may be packed: its `s`, which is otherwise empty, holds the serialized attribute.
    Unpacked, these lists take five times as much memory as in the file.
    """
    return content.type in _LISTS and content.name.startswith(_TREE_LISTS)


def attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    """Return the value of one attribute of a node; text as str."""
    return Attributes(node).value(name, default)


def post_transform(node: NodeProto) -> str:
    """Return the link after a node's sum: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT."""
    return _enum_name(attribute(node, "post_transform", "NONE"), _POST_TRANSFORMS)


def link_name(node: NodeProto) -> str:
    """Return the link that onnxruntime computes: behind a single column, none but PROBIT."""
    name = post_transform(node)
    is_single = node.op_type in _SUMS and column_count(node) == 1
    return "NONE" if is_single and name != "PROBIT" else name


def column_count(node: NodeProto) -> int:
    """Return the number of targets or classes of a tree operator or LinearRegressor."""
    attributes = Attributes(node)
    if node.op_type == "TreeEnsembleClassifier":
        return len(attributes.texts(*_LABELS))
    name = "targets" if node.op_type == "LinearRegressor" else "n_targets"
    return int(attributes.value(name, 1))


def base_values(node: NodeProto) -> Vector:
    """Return what a tree operator adds to its sums; empty where it adds nothing."""
    return Attributes(node).numbers("base_values", "base_values_as_tensor")


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
