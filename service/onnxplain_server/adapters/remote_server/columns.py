"""Rows and predictions between processes: raw buffers with their shapes, strings packed; no pickle.

What is read may be anyone's: lengths, types and counts are checked before anything is made of them.
Arrow's IPC format would need pyarrow in the process that calls, and checks less.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from onnxplain_server.adapters.network_processes.socket_frames import BrokenError, Buffer
from onnxplain_server.core.arrays import Array

INPUT_LIMIT = 100_000
"""Inputs of a model."""

OUTPUT_LIMIT = 100_000
"""Prediction columns of a model."""

_DTYPES = tuple(
    np.dtype(name) for name in ("?", *(f"<{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)))
) + tuple(np.dtype(f"<f{size}") for size in (2, 4, 8))
_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}
_STRINGS = 255
_FLOATS = (np.dtype("<f4"), np.dtype("<f8"))
_COUNT = struct.Struct("<I")
_HEAD = struct.Struct("<IBIIQ")
"""Bytes of the name, type, rows, columns, bytes of the content."""


def pack_feeds(feeds: Mapping[str, Array]) -> list[Buffer]:
    """Encode rows, by input: a mapping of name to (n_rows, width)."""
    parts: list[Buffer] = [_COUNT.pack(len(feeds))]
    for name, values in feeds.items():
        parts += _pack(name, values)
    return parts


def unpack_feeds(content: Buffer, row_limit: int) -> dict[str, Array]:
    """Decode the output of `pack_feeds`, of 1 to `row_limit` rows; BrokenError."""
    view = memoryview(content)
    if len(view) < _COUNT.size:
        raise BrokenError
    (count,) = _COUNT.unpack_from(view)
    if not 1 <= count <= INPUT_LIMIT:
        raise BrokenError
    pairs = list(_unpack(view[_COUNT.size :], count))
    feeds = dict(pairs)
    sizes = {len(values) for values in feeds.values()}
    if len(feeds) < count or len(sizes) != 1 or not 1 <= sizes.pop() <= row_limit:
        raise BrokenError
    return feeds


def pack_predictions(predictions: Array) -> list[Buffer]:
    """Encode predictions: (n_rows, n_outputs), float32 or float64."""
    return _pack("", predictions)


def unpack_predictions(content: Buffer, row_count: int) -> Array:
    """Decode the output of `pack_predictions`, of so many rows; BrokenError."""
    ((name, predictions),) = _unpack(memoryview(content), 1)
    is_known = not name and predictions.dtype in _FLOATS
    rows, columns = predictions.shape
    if not is_known or rows != row_count or not 1 <= columns <= OUTPUT_LIMIT:
        raise BrokenError
    return predictions


def _pack(name: str, values: Array) -> list[Buffer]:
    encoded = name.encode()
    rows, width = values.shape
    if values.dtype == object:
        code, content = _STRINGS, _pack_strings(values.ravel().tolist())
    else:
        plain = np.ascontiguousarray(values)
        little = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
        code, content = _CODES[little.dtype], [little.reshape(-1).view(np.uint8).data]
    size = sum(len(part) for part in content)
    return [_HEAD.pack(len(encoded), code, rows, width, size) + encoded, *content]


def _pack_strings(values: Sequence[str]) -> list[Buffer]:
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, "<u4")
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    return [offsets.tobytes(), b"".join(encoded)]


def _unpack(view: memoryview, count: int) -> Iterator[tuple[str, Array]]:
    """Yield names and values of so many inputs, which fill the content."""
    for _ in range(count):
        if len(view) < _HEAD.size:
            raise BrokenError
        name_size, code, rows, width, size = _HEAD.unpack_from(view)
        start = _HEAD.size + name_size
        if start + size > len(view) or not width:
            raise BrokenError
        values = _values(view[start : start + size], code, rows * width)
        yield _text(view[_HEAD.size : start]), values.reshape(rows, width)
        view = view[start + size :]
    if view:
        raise BrokenError


def _values(content: memoryview, code: int, count: int) -> Array:
    if code == _STRINGS:
        return _unpack_strings(content, count)
    if code >= len(_DTYPES) or count * _DTYPES[code].itemsize != len(content):
        raise BrokenError
    if _DTYPES[code] == np.bool_ and (np.frombuffer(content, np.uint8) > 1).any():
        raise BrokenError
    return np.frombuffer(content, _DTYPES[code])


def _unpack_strings(content: memoryview, count: int) -> Array:
    table_size = 4 * (count + 1)
    if len(content) < table_size:
        raise BrokenError
    offsets = np.frombuffer(content[:table_size], "<u4").astype(np.int64)
    text = bytes(content[table_size:])
    if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise BrokenError
    values = np.empty(count, object)
    bounds = offsets.tolist()
    values[:] = [_text(text[bounds[i] : bounds[i + 1]]) for i in range(count)]
    return values


def _text(content: Buffer) -> str:
    try:
        return bytes(content).decode()
    except UnicodeDecodeError:
        raise BrokenError from None
