"""Tensors of the Open Inference Protocol: element types, and rows as tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input

DTYPES: Mapping[str, np.dtype[np.generic]] = {
    "BOOL": np.dtype("?"),
    **{f"UINT{bits}": np.dtype(f"<u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"INT{bits}": np.dtype(f"<i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"FP{bits}": np.dtype(f"<f{bits // 8}") for bits in (16, 32, 64)},
}
"""Of numbers, by the protocol's name."""

STRINGS = "BYTES"

_ONNX_TYPES = {
    "BOOL": "bool",
    "FP16": "float16",
    "FP32": "float",
    "FP64": "double",
    STRINGS: "string",
} | {name: name.lower() for name in DTYPES if "INT" in name}
_DATATYPES = {type_: datatype for datatype, type_ in _ONNX_TYPES.items()}


@dataclass(frozen=True, slots=True)
class TensorMetadata:
    """Input or output of a model, as its server tells.

    Attributes
    ----------
    name, datatype : str
    shape : tuple of int
        -1 for any size; empty: unknown.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]

    @property
    def column_count(self) -> int | None:
        """Number of columns, where rows come first; None: unknown."""
        if len(self.shape) == 1:
            return 1
        if len(self.shape) == 2 and self.shape[1] >= 0:
            return self.shape[1]
        return None


@dataclass(frozen=True, slots=True)
class Tensor:
    """Rows as the protocol sends them.

    Attributes
    ----------
    name, datatype : str
    values : array
        (n_rows, n_columns), or (n_rows,) where the model has such an input. Strings: objects.
    """

    name: str
    datatype: str
    values: Array

    def packed(self) -> bytes:
        """Return the bytes of the protocol, little-endian in row-major order."""
        if self.datatype == STRINGS:
            return b"".join(_packed_string(value) for value in self.values.ravel())
        return np.ascontiguousarray(self.values, DTYPES[self.datatype]).tobytes()


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """Tensor of an answer.

    Attributes
    ----------
    name, datatype : str
    shape : tuple of int
    read : callable () -> array
        Its numbers, in any shape; none where their bytes do not fit. Raises ExplainError.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    read: Callable[[], Array]


def input_of(tensor: TensorMetadata) -> Input | None:
    """Return an input as a request would name it; None where it takes no table's rows."""
    type_ = _ONNX_TYPES.get(tensor.datatype)
    if type_ is None or len(tensor.shape) > 2:
        return None
    return Input(tensor.name, type_, tensor.column_count)


def tensors_of(
    feeds: Mapping[str, Array], inputs: Sequence[Input], metadata: Sequence[TensorMetadata]
) -> list[Tensor]:
    """Return rows as tensors, in the order of the inputs."""
    flat = {tensor.name for tensor in metadata if len(tensor.shape) == 1}
    return [
        Tensor(
            wanted.name,
            _DATATYPES[wanted.type],
            feeds[wanted.name].ravel()
            if wanted.name in flat and feeds[wanted.name].shape[1] == 1
            else feeds[wanted.name],
        )
        for wanted in inputs
    ]


def unpacked(datatype: str, content: bytes | memoryview) -> Array:
    """Return the numbers of the protocol's bytes; none where these are not whole elements."""
    dtype = DTYPES[datatype]
    return np.frombuffer(content if len(content) % dtype.itemsize == 0 else b"", dtype)


def _packed_string(value: object) -> bytes:
    encoded = str(value).encode()
    return len(encoded).to_bytes(4, "little") + encoded
