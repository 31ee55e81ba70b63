"""Fields of a serialised message, without its schema, in the order in which they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5


class MalformedError(Exception):
    """Content that is no serialised message."""


class Field(NamedTuple):
    """Field of a message.

    Attributes
    ----------
    number : int
    whole : memoryview
        With its tag.
    payload : memoryview or None
        Of texts, bytes and messages; None for numbers.
    """

    number: int
    whole: memoryview
    payload: memoryview | None


def fields(content: bytes | memoryview) -> Iterator[Field]:
    """Yield the fields; MalformedError where they end before the content does."""
    view = memoryview(content)
    at = 0
    while at < len(view):
        begin = at
        tag, at = _varint(view, at)
        kind, payload = tag & 7, None
        if kind == _VARINT:
            _, at = _varint(view, at)
        elif kind == _LENGTH:
            length, start = _varint(view, at)
            at = start + length
            payload = view[start:at]
        elif kind in {_EIGHT, _FOUR}:
            at += 8 if kind == _EIGHT else 4
        else:
            raise MalformedError
        if at > len(view):
            raise MalformedError
        yield Field(tag >> 3, view[begin:at], payload)


def varint_of(field: Field) -> int:
    """Return the number of a field; MalformedError where it is none."""
    if field.payload is not None:
        raise MalformedError
    _, at = _varint(field.whole, 0)
    return _varint(field.whole, at)[0]


def length_head(number: int, byte_count: int) -> bytes:
    """Write tag and length of a field of bytes or of a message, which follows."""
    return _written(number << 3 | _LENGTH) + _written(byte_count)


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(view):
            raise MalformedError
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise MalformedError


def _written(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(digits) + bytes([value])
