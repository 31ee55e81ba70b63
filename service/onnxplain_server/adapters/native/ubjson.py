"""UBJSON parser (Universal Binary JSON, draft 12), for untrusted files.

py-ubjson, the only library on PyPI that reads all of it, has had no release since 2020, has no
wheels for today's Pythons, builds lists of Python objects from typed arrays, and recurses without
a limit. The format has fifteen markers; typed arrays become NumPy arrays here, without copies of
single values.

Source: https://ubjson.org (markers, optimised containers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from onnxplain_server.adapters.native.faults import invalid

_DEPTH = 64
"""Most containers in each other; XGBoost writes 7."""
_NUMBERS: Mapping[int, str] = {
    ord("i"): ">i1",
    ord("U"): ">u1",
    ord("I"): ">i2",
    ord("l"): ">i4",
    ord("L"): ">i8",
    ord("d"): ">f4",
    ord("D"): ">f8",
}
_INTEGERS = frozenset(b"iUIlL")
_CONSTANTS: Mapping[int, object] = {ord("Z"): None, ord("T"): True, ord("F"): False}
_NOTHING, _TEXT, _CHAR = ord("N"), ord("S"), ord("C")
_LIST, _LIST_END, _OBJECT, _OBJECT_END = b"[]{}"
_TYPE, _COUNT = b"$#"


def parse(content: bytes) -> object:
    """Parse a whole document.

    Objects become dictionaries, of which the last of equal names counts; arrays become lists, and
    arrays of one numeric type NumPy arrays.

    Raises
    ------
    ExplainError
        INVALID_MODEL with the place.
    """
    parser = _UbjsonParser(content)
    document = parser.value(parser.marker(), 0)
    if parser.place != len(content):
        raise parser.fault("more content behind the end")
    return document


class _UbjsonParser:
    """Cursor in a document."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0

    def fault(self, what: str) -> Exception:
        return invalid(f"The model is broken UBJSON: {what}, at byte {self.place:,}.")

    def marker(self) -> int:
        """Read a marker, behind any that say nothing."""
        while True:
            if self.place >= len(self._content):
                raise self.fault("it ends too early")
            self.place += 1
            marker = self._content[self.place - 1]
            if marker != _NOTHING:
                return marker

    def value(self, marker: int, depth: int) -> Any:
        """Read the value behind a marker."""
        if marker in _NUMBERS:
            return self._number(marker)
        if marker == _TEXT:
            return self._text()
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker == _CHAR:
            return self._take(1).decode("latin-1")
        if marker not in {_LIST, _OBJECT}:
            raise self.fault(f"an unknown marker {chr(marker)!r}")
        if depth >= _DEPTH:
            raise self.fault(f"more than {_DEPTH} containers in each other")
        return self._list(depth + 1) if marker == _LIST else self._object(depth + 1)

    def _list(self, depth: int) -> Any:
        kind, count = self._header()
        if kind is not None and kind in _NUMBERS and count is not None:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self._take(count * dtype.itemsize), dtype)
        return [self.value(marker, depth) for marker in self._markers(kind, count, _LIST_END)]

    def _object(self, depth: int) -> dict[str, Any]:
        kind, count = self._header()
        if count is not None:
            return dict(self._pair(kind, depth) for _ in range(count))
        values: dict[str, Any] = {}
        while self._next() != _OBJECT_END:
            name, value = self._pair(None, depth)
            values[name] = value
        self.place += 1
        return values

    def _pair(self, kind: int | None, depth: int) -> tuple[str, Any]:
        name = self._text()
        return name, self.value(self.marker() if kind is None else kind, depth)

    def _markers(self, kind: int | None, count: int | None, end: int) -> Iterator[int]:
        """Yield the marker of each value of a container."""
        if count is not None:
            for _ in range(count):
                yield self.marker() if kind is None else kind
            return
        while (marker := self.marker()) != end:
            yield marker

    def _header(self) -> tuple[int | None, int | None]:
        """Read the type and the number of values of an optimised container; None where open."""
        kind = None
        if self._next() == _TYPE:
            self.place += 1
            kind = self._take(1)[0]
            if self._next() != _COUNT or kind in _CONSTANTS:
                # Values without bytes, or their number, could be claimed by a few bytes.
                raise self.fault("a typed container of constants, or without a count")
        if self._next() != _COUNT:
            return kind, None
        self.place += 1
        return kind, self._length()

    def _next(self) -> int:
        if self.place >= len(self._content):
            raise self.fault("it ends too early")
        return self._content[self.place]

    def _length(self) -> int:
        marker = self.marker()
        if marker not in _INTEGERS:
            raise self.fault("a length that is no integer")
        length = int(self._number(marker))
        if length < 0:
            raise self.fault("a negative length")
        return length

    def _number(self, marker: int) -> int | float:
        code = _NUMBERS[marker]
        size = int(code[2])
        number: int | float = np.frombuffer(self._take(size), np.dtype(code))[0].item()
        return number

    def _text(self) -> str:
        content = self._take(self._length())
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise self.fault("a text that is no UTF-8") from None

    def _take(self, size: int) -> bytes:
        end = self.place + size
        if end > len(self._content):
            raise self.fault("it ends too early")
        part = self._content[self.place : end]
        self.place = end
        return part
