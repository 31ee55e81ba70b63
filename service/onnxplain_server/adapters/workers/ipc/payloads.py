"""What frames carry, to bytes and back; nothing is believed, and nothing executed."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence

from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Attributes, Span

_LENGTH = struct.Struct("<q")
_PAIR = struct.Struct("<dd")
_ABSENT = -1
_LONGEST_NAME = 1_024
_LONGEST_TEXT = 4_096
_MOST_SPANS = 256
_MOST_SPAN_BYTES = 2**17
_SPANS = frozenset({"decode", "choose", "method", "predict", "draw", "encode"})
_ATTRIBUTES = frozenset({"method", "calls", "rows", "seconds", "error"})
_WORD = re.compile(r"[A-Za-z_]{1,64}")


def pack_values(values: Sequence[bytes | None]) -> bytes:
    """Write values one after the other, each with its length; None as -1."""
    parts: list[bytes] = []
    for value in values:
        parts += (_LENGTH.pack(_ABSENT if value is None else len(value)), value or b"")
    return b"".join(parts)


def unpack_values(packed: bytes) -> list[bytes | None]:
    """Read what `pack_values` wrote."""
    values: list[bytes | None] = []
    at = 0
    while at < len(packed):
        if at + _LENGTH.size > len(packed):
            raise MalformedError
        (length,) = _LENGTH.unpack_from(packed, at)
        at += _LENGTH.size
        if length < _ABSENT or at + length > len(packed):
            raise MalformedError
        values.append(None if length == _ABSENT else packed[at : at + length])
        at += max(0, length)
    return values


def pack_names(names: Sequence[str]) -> bytes:
    """Write names of cached numbers."""
    return pack_values([name.encode() for name in names])


def unpack_names(packed: bytes) -> list[str]:
    """Read names of cached numbers."""
    return [_name(value) for value in unpack_values(packed)]


def pack_entries(entries: Mapping[str, bytes]) -> bytes:
    """Write numbers with their names."""
    return pack_values([part for name, value in entries.items() for part in (name.encode(), value)])


def unpack_entries(packed: bytes) -> dict[str, bytes]:
    """Read numbers with their names."""
    values = unpack_values(packed)
    if len(values) % 2 or None in values:
        raise MalformedError
    return {_name(values[i]): values[i + 1] or b"" for i in range(0, len(values), 2)}


def pack_progress(done: float, planned: float) -> bytes:
    """Write how far a computation is."""
    return _PAIR.pack(done, planned)


def unpack_progress(packed: bytes) -> tuple[float, float]:
    """Read how far a computation is."""
    if len(packed) != _PAIR.size:
        raise MalformedError
    done, planned = _PAIR.unpack(packed)
    if not 0 <= done <= planned < float("inf"):
        raise MalformedError
    return done, planned


def pack_length(length: int) -> bytes:
    """Write how many bytes of the arena are meant."""
    return _LENGTH.pack(length)


def unpack_length(packed: bytes) -> int:
    """Read how many bytes of the arena are meant."""
    if len(packed) != _LENGTH.size:
        raise MalformedError
    return int(_LENGTH.unpack(packed)[0])


def pack_error(error: ExplainError) -> bytes:
    """Write why there is no answer."""
    return json.dumps([error.reason.name, error.message, error.field]).encode()


def unpack_error(packed: bytes) -> ExplainError:
    """Read why there is no answer."""
    try:
        name, message, field = json.loads(packed)
        return ExplainError(Reason[name], _text(message), _text(field))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MalformedError from None


def pack_spans(spans: Sequence[Span]) -> bytes:
    """Write how long parts of the work took; of very many, the first."""
    rows = [
        [each.name, each.start, each.end, dict(each.attributes)] for each in spans[:_MOST_SPANS]
    ]
    return json.dumps(rows).encode()


def unpack_spans(packed: bytes, start: float, end: float) -> list[Span]:
    """Read how long parts of the work took; nothing is before `start` or after `end`."""
    if len(packed) > _MOST_SPAN_BYTES:
        raise MalformedError
    try:
        spans = [
            Span(name, t0, t1, _attributes(values)) for name, t0, t1, values in json.loads(packed)
        ]
        known = all(each.name in _SPANS for each in spans)
        ordered = all(start <= each.start <= each.end <= end for each in spans)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise MalformedError from None
    if not (known and ordered) or len(spans) > _MOST_SPANS:
        raise MalformedError
    return spans


def _attributes(given: object) -> Attributes:
    """Take words and counts: what is shown is no place for a worker's own texts."""
    attributes: dict[str, str | float] = {}
    if not isinstance(given, dict):
        raise TypeError
    for name, value in given.items():
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


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return "".join(letter for letter in value[:_LONGEST_TEXT] if letter.isprintable())


def _name(value: bytes | None) -> str:
    if value is None or len(value) > _LONGEST_NAME:
        raise MalformedError
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise MalformedError from None
