"""Large tensors of a network: their values stay in the bytes of the file, and are never copied.

A network of 1.5 GB is parsed, cut and handed to onnxruntime several times, and protobuf copies
each time what a message holds. Here a message holds names, types and shapes of large tensors only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

import numpy as np
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TensorProto, helper
from onnxplain.external_data.wire_fields import (
    Field,
    MalformedError,
    fields,
    length_head,
)

from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import TREE_OPERATORS, nodes_within, tensors_read

NO_VALUES: Mapping[str, Array] = MappingProxyType({})
"""Of a model whose tensors hold their values themselves."""

_LARGE_FILE = 4 << 20
_LARGE_TENSOR = 64 << 10
_MOST_FIELDS = 500_000
"""Of a graph, which are searched in half a second; one with more keeps its values."""

_GRAPH = ModelProto.GRAPH_FIELD_NUMBER
_INITIALIZER = GraphProto.INITIALIZER_FIELD_NUMBER
_RAW = TensorProto.RAW_DATA_FIELD_NUMBER
_PLAIN = frozenset(
    (
        *(TensorProto.DIMS_FIELD_NUMBER, TensorProto.DATA_TYPE_FIELD_NUMBER),
        *(TensorProto.NAME_FIELD_NUMBER, TensorProto.DOC_STRING_FIELD_NUMBER, _RAW),
    )
)
"""Fields of a tensor whose values are raw bytes in the file itself."""
_TYPES = frozenset(
    (
        *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16),
        *(TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64),
    )
)


def parse_apart(content: bytes) -> tuple[ModelProto, Mapping[str, Array]] | None:
    """Parse a network without the values of its large tensors, and return these as arrays.

    The arrays are views of `content`. None for small files, for models with trees, whose readers
    take all constants, and for what is no such file.
    """
    if len(content) < _LARGE_FILE:
        return None
    found: dict[str, Array] = {}
    try:
        parts = list(_without_values(content, found))
        if not found:
            return None
        model = ModelProto.FromString(b"".join(parts))
    except (MalformedError, DecodeError, ValueError, TypeError):
        return None
    names = [tensor.name for tensor in model.graph.initializer]
    has_trees = any(node.op_type in TREE_OPERATORS for node in nodes_within(model.graph))
    return None if has_trees or len(set(names)) < len(names) else (model, found)


def mark_apart(model: ModelProto, values: Mapping[str, Array]) -> None:
    """Mark the tensors of such a model as without values: reading them from it is an error.

    To be called once no tensor of the file names another file: see `refuse_external_data`.
    """
    for tensor in model.graph.initializer:
        if tensor.name in values:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="apart")


def that_are_read(
    model: ModelProto, values: Mapping[str, Array]
) -> tuple[ModelProto, Mapping[str, Array]]:
    """Leave out tensors that are apart and that no node reads: onnxruntime has no place for them.

    Files have such tensors, and cut graphs more. Return the model itself where all are read.
    """
    names = {name for node in model.graph.node for name in tensors_read(node)}
    names.update(output.name for output in model.graph.output)
    unread = values.keys() - names
    if not unread:
        return model, values
    left = ModelProto()
    left.CopyFrom(model)
    for entries in (left.graph.initializer, left.graph.input):
        for place in reversed(range(len(entries))):
            if entries[place].name in unread:
                del entries[place]
    return left, {name: each for name, each in values.items() if name in names}


def _without_values(content: bytes, found: dict[str, Array]) -> Iterator[bytes | memoryview]:
    graphs = 0
    for field in _limited(content):
        if field.number == _GRAPH and field.payload is not None:
            graphs += 1
            inner = list(_graph(field.payload, found))
            yield length_head(_GRAPH, sum(map(len, inner)))
            yield from inner
        else:
            yield field.whole
    if graphs != 1:
        raise MalformedError  # parsers would merge them


def _graph(content: memoryview, found: dict[str, Array]) -> Iterator[bytes | memoryview]:
    for field in _limited(content):
        payload = field.payload
        if field.number == _INITIALIZER and payload is not None and len(payload) > _LARGE_TENSOR:
            head = _tensor(payload, found)
            yield length_head(_INITIALIZER, len(head)) + head
        else:
            yield field.whole


def _tensor(content: memoryview, found: dict[str, Array]) -> bytes:
    parts = list(_limited(content))
    raw = [part.payload for part in parts if part.number == _RAW]
    if len(raw) != 1 or raw[0] is None or any(part.number not in _PLAIN for part in parts):
        return bytes(content)
    head = b"".join(bytes(part.whole) for part in parts if part.number != _RAW)
    tensor = TensorProto.FromString(head)
    if tensor.data_type not in _TYPES or not tensor.name:
        return bytes(content)
    kind = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type)).newbyteorder("<")
    shape = tuple(tensor.dims)
    if min(shape, default=0) <= 0 or math.prod(shape) * kind.itemsize != len(raw[0]):
        return bytes(content)
    found[tensor.name] = np.frombuffer(raw[0], kind).reshape(shape)
    return head


def _limited(content: bytes | memoryview) -> Iterator[Field]:
    """Yield fields of a message; MalformedError where there are too many."""
    all_ = fields(content)
    yield from islice(all_, _MOST_FIELDS)
    if next(all_, None) is not None:
        raise MalformedError
