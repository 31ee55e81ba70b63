"""Tensors of the Open Inference Protocol whose values follow the JSON as bytes.

The header Inference-Header-Content-Length tells where the JSON ends; `binary_data_size` among the
parameters of each tensor, how many of the bytes behind it are its own.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire import canonical
from onnxplain_server.wire.scanning.json_reader import ANY, Shape

_NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        "BOOL": "?",
        "UINT8": "B",
        "UINT16": "H",
        "UINT32": "I",
        "UINT64": "Q",
        "INT8": "b",
        "INT16": "h",
        "INT32": "i",
        "INT64": "q",
        "FP16": "e",
        "FP32": "f",
        "FP64": "d",
    }
)
"""Formats of `struct` by datatype."""

_LENGTH = struct.Struct("<I")


def read_binary(body: bytes, length: int, shape: Shape = ANY) -> dict[str, Any]:
    """Return the JSON of a body's first bytes, with the values of its tensors in their `data`.

    NaN is a missing value, as null is. The JSON has a shape, as `canonical.read_object` takes it.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_TABLE.
    """
    if length > len(body):
        raise _invalid(f"the body has {len(body):,} bytes, and its JSON {length:,}")
    document = canonical.read_object(body[:length], shape)
    tensors = document.get("inputs")
    rest = body[length:]
    for tensor in tensors if isinstance(tensors, list) else []:
        size = _binary_size(tensor)
        if size is not None:
            if size > len(rest):
                raise _invalid(f"a tensor has {size:,} bytes, of which {len(rest):,} are there")
            tensor["data"] = read_values(str(tensor.get("datatype")), rest[:size])
            rest = rest[size:]
    if rest:
        raise _invalid(f"{len(rest):,} bytes belong to no tensor")
    return document


def _binary_size(tensor: object) -> int | None:
    """Return the number of a tensor's bytes; None where its values are in the JSON."""
    parameters = tensor.get("parameters") if isinstance(tensor, dict) else None
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        raise _invalid("binary_data_size must be a number of bytes")
    return size


def read_values(datatype: str, content: bytes) -> list[Any]:
    """Return the values that bytes hold; None where one is missing; INVALID_TABLE."""
    if datatype == "BYTES":
        return _texts(content)
    if datatype not in _NUMBERS:
        raise _invalid(f'the datatype "{datatype[:100]}" is not known')
    number = struct.Struct(f"<{_NUMBERS[datatype]}")
    if len(content) % number.size:
        raise _invalid(f"{len(content):,} bytes are no whole number of {datatype}")
    return finite_values(value for (value,) in number.iter_unpack(content))


def finite_values(values: Iterable[float]) -> list[float | None]:
    """Return numbers, with None for NaN; INVALID_TABLE where one is infinite."""
    kept = list(values)
    if any(map(math.isinf, kept)):
        raise _invalid("a value is infinite")
    return [None if math.isnan(value) else value for value in kept]


def _texts(content: bytes) -> list[str]:
    """Return texts that each follow their length in bytes."""
    texts, at = [], 0
    while at < len(content):
        begin = at + _LENGTH.size
        if begin > len(content):
            raise _invalid("a text of BYTES is cut")
        at = begin + _LENGTH.unpack_from(content, at)[0]
        if at > len(content):
            raise _invalid("a text of BYTES is cut")
        try:
            texts.append(content[begin:at].decode())
        except UnicodeDecodeError:
            raise _invalid("a text of BYTES is not UTF-8") from None
    return texts


def _invalid(fault: str) -> ExplainError:
    return ExplainError(Reason.INVALID_TABLE, f"inputs: {fault}", "inputs")
