"""Payloads of frames, encoded and decoded; decoders validate everything and execute nothing."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence

from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.adapters.workers.ipc.frame_limits import NAME_BYTE_LIMIT, NAME_COUNT_LIMIT
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Attributes, Span

_LENGTH = struct.Struct("<q")
_PAIR = struct.Struct("<dd")
_RANGE = struct.Struct("<IQI")
_ABSENT = -1
_SPAN_LIMIT = 256
_SPAN_BYTE_LIMIT = 2**17
_BRACKET_LIMIT = 2 * _SPAN_LIMIT + 1
_SPANS = frozenset({"decode", "choose", "method", "predict", "draw", "encode"})
_ATTRIBUTES = frozenset({"method", "calls", "rows", "seconds", "error"})
_WORD = re.compile(r"[A-Za-z_]{1,64}")
_PLACE = re.compile(r"\w{1,64} at [\w.]{1,64}:\d{1,6}")
"""Text of an INTERNAL error: it is logged, and must not be a worker's own."""
PARENT_REASONS = frozenset(
    {
        Reason.UNAUTHENTICATED,
        Reason.OVERLOADED,
        Reason.UNAVAILABLE,
        Reason.DEADLINE_EXCEEDED,
        Reason.LOADING_TOO_LONG,
        Reason.WORKER_DIED,
        Reason.MODEL_QUARANTINED,
    }
)
"""Reasons that only the parent gives."""


def pack_values(values: Sequence[bytes | None]) -> bytes:
    """Encode values, each after its length; None as length -1."""
    parts: list[bytes] = []
    for value in values:
        parts += (_LENGTH.pack(_ABSENT if value is None else len(value)), value or b"")
    return b"".join(parts)


def unpack_values(packed: bytes, count_limit: int = NAME_COUNT_LIMIT) -> list[bytes | None]:
    """Decode the output of `pack_values`, of at most so many values."""
    values: list[bytes | None] = []
    offset = 0
    while offset < len(packed):
        if len(values) == count_limit:
            raise MalformedError
        if offset + _LENGTH.size > len(packed):
            raise MalformedError
        (length,) = _LENGTH.unpack_from(packed, offset)
        offset += _LENGTH.size
        if length < _ABSENT or offset + length > len(packed):
            raise MalformedError
        values.append(None if length == _ABSENT else packed[offset : offset + length])
        offset += max(0, length)
    return values


def pack_range(file: int, start: int, length: int) -> bytes:
    """Encode a range of a file: its number, start and length."""
    return _RANGE.pack(file, start, length)


def unpack_range(packed: bytes) -> tuple[int, int, int]:
    """Decode the output of `pack_range`."""
    if len(packed) != _RANGE.size:
        raise MalformedError
    file, start, length = _RANGE.unpack(packed)
    return file, start, length


def pack_names(names: Sequence[str]) -> bytes:
    """Encode cache keys."""
    return pack_values([name.encode() for name in names])


def unpack_names(packed: bytes) -> list[str]:
    """Decode cache keys, all of them different."""
    names = [_name(value) for value in unpack_values(packed)]
    if len(set(names)) < len(names):
        raise MalformedError
    return names


def pack_entries(entries: Mapping[str, bytes]) -> bytes:
    """Encode cache entries."""
    return pack_values([part for name, value in entries.items() for part in (name.encode(), value)])


def unpack_entries(packed: bytes) -> dict[str, bytes]:
    """Decode cache entries."""
    values = unpack_values(packed, 2 * NAME_COUNT_LIMIT)
    if len(values) % 2 or None in values:
        raise MalformedError
    return {_name(values[i]): values[i + 1] or b"" for i in range(0, len(values), 2)}


def pack_progress(done: float, planned: float) -> bytes:
    """Encode progress."""
    return _PAIR.pack(done, planned)


def unpack_progress(packed: bytes) -> tuple[float, float]:
    """Decode progress: 0 <= done <= planned, finite."""
    if len(packed) != _PAIR.size:
        raise MalformedError
    done, planned = _PAIR.unpack(packed)
    if not 0 <= done <= planned < float("inf"):
        raise MalformedError
    return done, planned


def pack_error(error: ExplainError) -> bytes:
    """Encode an error."""
    return pack_names([error.reason.name, error.message, error.field])


def unpack_error(packed: bytes) -> ExplainError:
    """Decode an error that a worker may give."""
    try:
        name, message, field = [(text or b"").decode() for text in unpack_values(packed, 3)]
        error = ExplainError(Reason[name], message, field)
    except (ValueError, KeyError):
        raise MalformedError from None
    is_place = error.reason is not Reason.INTERNAL or _PLACE.fullmatch(message)
    if error.reason in PARENT_REASONS or not is_place:
        raise MalformedError
    return error


def pack_spans(spans: Sequence[Span]) -> bytes:
    """Encode spans, at most the first 256."""
    rows = [
        [span.name, span.start, span.end, dict(span.attributes)] for span in spans[:_SPAN_LIMIT]
    ]
    return json.dumps(rows).encode()


def unpack_spans(packed: bytes, start: float, end: float) -> list[Span]:
    """Decode spans, all of which must lie between `start` and `end`."""
    # So many brackets bound the depth too, before anything is parsed.
    if len(packed) > _SPAN_BYTE_LIMIT or sum(map(packed.count, (b"[", b"{"))) > _BRACKET_LIMIT:
        raise MalformedError
    try:
        spans = [
            Span(name, t0, t1, _attributes(values)) for name, t0, t1, values in json.loads(packed)
        ]
        are_known = all(span.name in _SPANS for span in spans)
        are_inside = all(start <= span.start <= span.end <= end for span in spans)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise MalformedError from None
    if not (are_known and are_inside) or len(spans) > _SPAN_LIMIT:
        raise MalformedError
    return spans


def _attributes(decoded: object) -> Attributes:
    """Accept words and counts only: logs and traces must not show a worker's own text."""
    attributes: dict[str, str | float] = {}
    if not isinstance(decoded, dict):
        raise TypeError
    for name, value in decoded.items():
        match value:
            case str() if _WORD.fullmatch(value):
                attributes[name] = value
            case int() | float() if math.isfinite(value) and value >= 0:
                attributes[name] = value
            case _:
                raise ValueError
    if not attributes.keys() <= _ATTRIBUTES:
        raise ValueError
    return attributes


def _name(value: bytes | None) -> str:
    if value is None or len(value) > NAME_BYTE_LIMIT:
        raise MalformedError
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise MalformedError from None
