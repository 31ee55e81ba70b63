"""Reader of Arrow columns: numbers become float64 or stay float32, text and times str.

Durations are numbers too, in seconds.

Nothing here calls `to_numpy` or makes Arrow values of Python's: both import pandas where it is
installed, which takes longer than to read most tables.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.table import LOSES_DIGITS

_LARGEST_EXACT = 2**53
_TICKS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Units of a duration in a second."""


class UnreadableError(Exception):
    """Error for a column that is neither numbers nor text; its text names the Arrow type."""


def read_column(chunks: pa.ChunkedArray, singles: Iterator[Array]) -> Array:
    """Return numbers as float64, or text as str objects; NaN and "" stand for missing values.

    Parameters
    ----------
    singles : iterator of (n_rows,) float32
        Its next array takes a column of float32, which stays float32.

    Raises
    ------
    UnreadableError
    """
    if pa.types.is_float32(chunks.type):
        return _single(chunks, next(singles))
    try:
        plain = _decode(chunks)
        too_large = _loses_digits(plain)
        values = None if too_large else _values(plain)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # An unknown time zone, or an encoding nested in another.
        raise UnreadableError(str(chunks.type)) from None
    if values is None:
        raise UnreadableError(f"{chunks.type}{LOSES_DIGITS * too_large}")
    return values


def _decode(chunks: pa.ChunkedArray) -> pa.ChunkedArray:
    """Undo dictionary and run-end encoding."""
    if pa.types.is_run_end_encoded(chunks.type):
        return pc.run_end_decode(chunks)
    if not pa.types.is_dictionary(chunks.type):
        return chunks
    if not pa.types.is_string_view(chunks.type.value_type):
        return chunks.cast(chunks.type.value_type)
    # Arrow cannot cast dictionaries of string views.
    decoded = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in chunks.chunks]
    return pa.chunked_array(decoded, type=pa.string())


def _values(chunks: pa.ChunkedArray) -> Array | None:
    kind = chunks.type
    if pa.types.is_duration(kind):
        return _seconds(chunks)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _times(chunks)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        texts = ["" if text is None else text for text in chunks.cast(pa.string()).to_pylist()]
        return np.array(texts, dtype=object)
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (numeric or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        return None
    plain = chunks.cast(pa.int8()) if pa.types.is_boolean(kind) else chunks
    # Float64 is not copied by the cast: the table's own buffer may not be aligned.
    return _numbers(plain.cast(pa.float64(), safe=False), copy=pa.types.is_float64(kind))


def _single(chunks: pa.ChunkedArray, values: Array) -> Array:
    """Copy a column of float32 into an array, NaN for nulls: the table's own may not be aligned."""
    start = 0
    for chunk in chunks.chunks:
        values[start : start + len(chunk)] = _numbers(pa.chunked_array([chunk]), copy=False)
        start += len(chunk)
    return values


def _numbers(chunks: pa.ChunkedArray, *, copy: bool) -> Array:
    """Return a column of floats, NaN for nulls; read-only where nothing had to be copied."""
    column = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
    _, values = column.buffers()
    numbers: Array = np.from_dlpack(
        pa.Array.from_buffers(column.type, len(column), [None, values], offset=column.offset)
    )
    if column.null_count:
        is_null = np.from_dlpack(column.is_null().cast(pa.uint8())).astype(bool)
        return np.where(is_null, numbers.dtype.type(np.nan), numbers)
    return numbers.copy() if copy else numbers


def _seconds(chunks: pa.ChunkedArray) -> Array:
    """Return durations in seconds, NaN for nulls."""
    ticks = chunks.cast(pa.int64()).cast(pa.float64(), safe=False)
    return _numbers(ticks, copy=False) / _TICKS[chunks.type.unit]


def _times(chunks: pa.ChunkedArray) -> Array | None:
    texts = chunks.cast(pa.string())
    # Arrow writes "<value out of range: ...>" for a time that no calendar has.
    return None if pc.any(pc.starts_with(texts, "<")).as_py() else _values(texts)


def _loses_digits(chunks: pa.ChunkedArray) -> bool:
    """Tell whether whole numbers are too large for float64."""
    if not (pa.types.is_integer(chunks.type) or pa.types.is_decimal(chunks.type)):
        return False
    if pa.types.is_decimal(chunks.type):
        # Arrow's min_max does not take narrow decimals.
        chunks = chunks.cast(pa.decimal256(76, chunks.type.scale))
    extremes = pc.min_max(chunks).as_py()
    return any(value is not None and abs(value) > _LARGEST_EXACT for value in extremes.values())
