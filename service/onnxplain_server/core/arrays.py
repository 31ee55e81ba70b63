"""Array types named by their shape, and the byte format of arrays in the cache."""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""Any shape and type."""
Vector: TypeAlias = npt.NDArray[np.float64]
"""(n,)"""
Matrix: TypeAlias = npt.NDArray[np.float64]
"""(n_rows, n_outputs)"""
Cube: TypeAlias = npt.NDArray[np.float64]
"""(n_rows, n_points, n_outputs)"""
Indices: TypeAlias = npt.NDArray[np.intp]
"""(n,)"""

_HEADER = struct.Struct("<4sBB")
_MAGIC = b"ONXP"
_VERSION = 1


def pack(values: Matrix) -> bytes:
    """Encode float64 numbers: magic, version, rank, shape, little-endian values."""
    shape = struct.pack(f"<{values.ndim}Q", *values.shape)
    return _HEADER.pack(_MAGIC, _VERSION, values.ndim) + shape + values.astype("<f8").tobytes()


def unpack(packed: bytes, shape: tuple[int, ...]) -> Matrix | None:
    """Decode bytes of `pack`; None if they are damaged or have another shape."""
    offset = _HEADER.size + 8 * len(shape)
    if len(packed) != offset + 8 * int(np.prod(shape)):
        return None
    header = _HEADER.unpack_from(packed)
    if header != (_MAGIC, _VERSION, len(shape)):
        return None
    if struct.unpack_from(f"<{len(shape)}Q", packed, _HEADER.size) != shape:
        return None
    return np.frombuffer(packed, "<f8", offset=offset).reshape(shape).astype(np.float64)
