"""Array types named by their shape, and the byte format of arrays in the cache."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Number of dimensions of an array type: compiled functions accept no other number."""

    count: int


Array: TypeAlias = npt.NDArray[Any]
"""Any shape and type."""
Vector: TypeAlias = Annotated[npt.NDArray[np.float64], Dimensions(1)]
"""(n,)"""
Matrix: TypeAlias = Annotated[npt.NDArray[np.float64], Dimensions(2)]
"""(n_rows, n_outputs)"""
Cube: TypeAlias = Annotated[npt.NDArray[np.float64], Dimensions(3)]
"""(n_rows, n_points, n_outputs)"""
Indices: TypeAlias = Annotated[npt.NDArray[np.intp], Dimensions(1)]
"""(n,)"""
Counts: TypeAlias = Annotated[npt.NDArray[np.int64], Dimensions(1)]
"""(n,)"""
CountMatrix: TypeAlias = Annotated[npt.NDArray[np.int64], Dimensions(2)]
"""(n_rows, n_columns)"""
Flags: TypeAlias = Annotated[npt.NDArray[np.bool_], Dimensions(1)]
"""(n,)"""
Int16Vector: TypeAlias = Annotated[npt.NDArray[np.int16], Dimensions(1)]
"""(n,)"""
Int32Vector: TypeAlias = Annotated[npt.NDArray[np.int32], Dimensions(1)]
"""(n,)"""
Int32Matrix: TypeAlias = Annotated[npt.NDArray[np.int32], Dimensions(2)]
"""(n_rows, n_columns)"""
Words: TypeAlias = Annotated[npt.NDArray[np.uint64], Dimensions(1)]
"""(n_words,); bit i % 64 of word i // 64 is row i. Bits after the last row are 0."""
WordMatrix: TypeAlias = Annotated[npt.NDArray[np.uint64], Dimensions(2)]
"""(n_sets, n_words)"""
WordCube: TypeAlias = Annotated[npt.NDArray[np.uint64], Dimensions(3)]
"""(n_chunks, n_sets, n_words)"""


def sorted_distinct(values: Array) -> Array:
    """Return the distinct values of integers, (n,), ascending; faster for many than np.unique."""
    ordered = np.sort(values)
    distinct: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return distinct


def unit_of_squares(values: Array) -> Vector:
    """Return the power of two by which each column, (n, n_columns), is divided for its squares.

    Sums of squares of what is left neither exceed float64 nor vanish. It is 1 but for numbers near
    the ends of float64, and no division by it rounds a number that is not tiny beside the others.
    """
    largest = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=0, initial=0.0)
    exponents = np.frexp(largest)[1] - 1
    is_usual = (np.abs(exponents) < _USUAL_EXPONENT) | (largest == 0)
    unit: Vector = np.ldexp(1.0, np.where(is_usual, 0, exponents))
    return unit


_USUAL_EXPONENT = 400
"""Of numbers up to 1e120, whose squares times the number of rows of any table are finite."""

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
