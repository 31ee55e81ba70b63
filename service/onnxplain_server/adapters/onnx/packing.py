"""Packed lists of tree operators: bytes as in the file, in place of lists of protobuf values.

A list with a value per node takes five times as many bytes in a message as in the file, and every
copy of the graph copies it. `Attributes` unpacks a list when it is read; `serialize` writes a model
with all lists unpacked, for onnxruntime.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

from onnxplain_server.trees.reading.onnx_nodes import TREE_OPERATORS, is_tree_list, nodes_within
from onnxplain_server.wire.requests.partial_copy import copy_without

_MORE = 0x80
"""Bit of a byte of a varint, if another byte follows."""
_BYTES = 2
"""Wire type of texts, messages and packed lists."""


def pack(model: ModelProto) -> ModelProto:
    """Return a model with packed lists; the same object if it has no tree operators.

    Parameters
    ----------
    model : ModelProto
        As parsed. It is spent.
    """
    trees = [node for node in nodes_within(model.graph) if node.op_type in TREE_OPERATORS]
    if not trees:
        return model
    for node in trees:
        for content in filter(is_tree_list, node.attribute):
            content.ClearField("s")  # means a packed list from here on
    for content in _packable(model):
        own = AttributeProto(name=content.name, type=content.type, s=content.SerializeToString())
        content.CopyFrom(own)
    packed = ModelProto()
    packed.CopyFrom(model)  # the memory of cleared fields is freed with their message only
    return packed


def without_lists(model: ModelProto) -> ModelProto:
    """Return a copy without packed lists, for what needs their names only."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for content in _packable(copy):
        content.ClearField("s")
    return copy


def serialize(model: ModelProto) -> bytes:
    """Serialise a model with all lists unpacked."""
    if not any(content.s for content in _packable(model)):
        return model.SerializeToString()
    frame: ModelProto = copy_without(model, ("graph",))
    frame.graph.CopyFrom(copy_without(model.graph, ("node",)))
    number = GraphProto.NODE_FIELD_NUMBER
    nodes = b"".join(_field(number, _serialize_node(node)) for node in model.graph.node)
    # Parsers merge the two parts of the graph: so does protobuf define it.
    return frame.SerializeToString() + _field(ModelProto.GRAPH_FIELD_NUMBER, nodes)


def _packable(model: ModelProto) -> Iterator[AttributeProto]:
    """Yield the lists of the tree operators of the main graph; `serialize` unpacks no others."""
    for node in model.graph.node:
        if node.op_type in TREE_OPERATORS:
            yield from filter(is_tree_list, node.attribute)


def _serialize_node(node: NodeProto) -> bytes:
    if node.op_type not in TREE_OPERATORS:
        return node.SerializeToString()
    number = NodeProto.ATTRIBUTE_FIELD_NUMBER
    attributes = b"".join(_field(number, _serialize(content)) for content in node.attribute)
    frame: NodeProto = copy_without(node, ("attribute",))
    return frame.SerializeToString() + attributes


def _serialize(content: AttributeProto) -> bytes:
    """Serialise an attribute, unpacked; the graph may have renamed it since it was packed."""
    if not (is_tree_list(content) and content.s):
        return content.SerializeToString()
    name = _field(AttributeProto.NAME_FIELD_NUMBER, content.name.encode())
    return content.s + name  # the last one counts


def _field(number: int, content: bytes) -> bytes:
    """Return a field with its tag and length."""
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number >= _MORE:
        digits.append(number % _MORE | _MORE)
        number //= _MORE
    return bytes([*digits, number])
