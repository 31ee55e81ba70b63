"""Scan of a serialised message: its top-level fields, by tags and lengths alone."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from mmap import mmap

from onnxplain_server.core.errors import ExplainError, Reason

_FIELD_LIMIT = 100_000
"""Top-level fields, as many as are scanned in some 20 ms."""

_VARINT, _FIXED64, LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5
_MORE = 0x80
"""Bit of a byte of a varint, if another byte follows."""

_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_VARINT_BYTES = 10


@dataclass(frozen=True, slots=True)
class MessageField:
    """Field of a message: its number, and the offsets of its tag, its value and its end."""

    number: int
    start: int
    value_start: int
    end: int


class TooManyFieldsError(ExplainError):
    """Message with more fields than are scanned: INVALID_REQUEST."""

    def __init__(self, message: str) -> None:
        text = f"the {message} has more than {_FIELD_LIMIT:,} fields"
        super().__init__(Reason.INVALID_REQUEST, text)


def scan(
    content: bytes | bytearray | mmap,
    start: int,
    end: int,
    message: str,
    numbers: Collection[int],
    *,
    steps: Iterator[int] | None = None,
) -> Iterator[MessageField]:
    """Yield the fields of these numbers that hold bytes, between two offsets; count all by `steps`.

    Raises
    ------
    ExplainError
        INVALID_REQUEST if the message is malformed, or has too many fields.
    """
    at, steps = start, steps or itertools.count(1)
    while at < end:
        tag, value_start = content[at], at + 1
        if tag >= _MORE:
            tag, value_start = _varint(content, at, end, message)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == LENGTH_DELIMITED:
            length, value_start = _varint(content, value_start, end, message)
            next_ = value_start + length
            if number in numbers and next_ <= end:
                yield MessageField(number, at, value_start, next_)
        elif wire_type == _VARINT:
            next_ = _varint(content, value_start, end, message)[1]
        else:
            # Other types are unknown, or groups, which no field of the contract is.
            next_ = value_start + _FIXED_BYTES.get(wire_type, end)
        count = next(steps)
        if next_ > end or not number or count > _FIELD_LIMIT:
            raise malformed(message) if count <= _FIELD_LIMIT else TooManyFieldsError(message)
        at = next_


def _varint(content: bytes | bytearray | mmap, at: int, end: int, message: str) -> tuple[int, int]:
    """Read a varint; return its value and the offset after it."""
    if at < end and content[at] < _MORE:
        return content[at], at + 1
    value = 0
    for index in range(min(_VARINT_BYTES, end - at)):
        byte = content[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < _MORE:
            return value, at + index + 1
    raise malformed(message)


def encode_varint(value: int) -> bytes:
    """Write a varint."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))


def malformed(message: str) -> ExplainError:
    """Return the error for what is no message of this name."""
    return invalid(f"the message cannot be decoded as {message}")


def invalid(message: str, field: str = "") -> ExplainError:
    """Return the error INVALID_REQUEST."""
    return ExplainError(Reason.INVALID_REQUEST, message, field)
