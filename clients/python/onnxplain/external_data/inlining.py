"""Models in several files: tensors whose values lie beside the model are put into it.

What comes out is the model as if it had been saved in one piece, byte for byte as protobuf orders
fields, so that its identity does not depend on how it was cut. Needs no onnx package.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import NamedTuple, TypeAlias

from onnxplain.errors import ExplainError
from onnxplain.external_data.wire_fields import (
    Field,
    MalformedError,
    fields,
    length_head,
    varint_of,
)

MOST_BYTES = 2**31 - 1
"""Of a model: protobuf takes no larger message."""

_TENSOR = "tensor"
_CHILDREN: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: _TENSOR, 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: _TENSOR, 6: "graph", 10: _TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: _TENSOR, 2: _TENSOR},
}
"""Fields of ONNX's messages that hold tensors, by the kind of the message."""

_DIMS, _TYPE, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 8, 9, 13, 14
_IS_EXTERNAL = 1
_MOST_FIELDS = 3_000_000
"""Of the model, which are some seconds of reading."""

_BLOCK_BYTES = 2**22

_NUMBER = re.compile(r"[0-9]{1,18}")
_MOST_DEPTH = 100

_BITS: Mapping[int, int] = {
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),
    **dict.fromkeys((4, 5, 10, 16), 16),
    **dict.fromkeys((1, 6, 12), 32),
    **dict.fromkeys((7, 11, 13, 14), 64),
    **dict.fromkeys((21, 22, 23), 4),
    15: 128,
}
"""Of a value, by its data type; the others cannot lie outside, or are not known here."""


class ValueFile(NamedTuple):
    """File with values of tensors.

    Attributes
    ----------
    byte_count : int
    read : callable (start, length) -> bytes or memoryview
    """

    byte_count: int
    read: Callable[[int, int], bytes | memoryview]


FindFile: TypeAlias = Callable[[str], ValueFile]
"""Finds a file by its name, a path below the model's folder; raises ExplainError without it."""


def in_one_piece(content: bytes, find: FindFile, most_bytes: int = MOST_BYTES) -> bytes:
    """Put the values that lie in other files into the model that names them.

    What is no ONNX model, or names no file, is returned as it is.

    Raises
    ------
    ExplainError
        EXTERNAL_DATA where a file is missing, lies outside of the model's folder, or does not fit;
        MODEL_TOO_LARGE where all values have more than `most_bytes`.
    """
    whole = _with_values(content, find, most_bytes)
    return content if whole is None else whole.joined()


def find_files(content: bytes, find: FindFile) -> None:
    """Find the files that a model names, and check that its values fit, without reading them."""
    _with_values(content, find, MOST_BYTES)


def _with_values(content: bytes, find: FindFile, most_bytes: int) -> _Message | None:
    if b"location" not in content:
        return None
    inliner = _Inliner(find, most_bytes)
    whole = _Message()
    try:
        inliner.rewrite(content, "model", 0, whole)
    except MalformedError:
        return None  # the service says what is wrong
    return whole if inliner.byte_count else None


def refusal(message: str) -> ExplainError:
    """Return the error EXTERNAL_DATA."""
    return ExplainError("EXTERNAL_DATA", message, "model", "INVALID_ARGUMENT")


class _Values(NamedTuple):
    """Values of a file, which are read when the model is put together."""

    file: ValueFile
    start: int
    byte_count: int


class _Message:
    """Parts of a message, which are put together once: values of some GB are in memory once."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview | _Values] = []
        self.byte_count = 0

    def add(self, part: bytes | memoryview) -> None:
        """Append bytes."""
        self.parts.append(part)
        self.byte_count += len(part)

    def add_field(self, number: int, part: _Message | _Values) -> None:
        """Append a field with its tag and length."""
        self.add(length_head(number, part.byte_count))
        self.parts += part.parts if isinstance(part, _Message) else [part]
        self.byte_count += part.byte_count

    def joined(self) -> bytes:
        """Return all bytes."""
        whole = io.BytesIO()
        for part in self.parts:
            if not isinstance(part, _Values):
                whole.write(part)
                continue
            end = part.start + part.byte_count
            for start in range(part.start, end, _BLOCK_BYTES):
                length = min(_BLOCK_BYTES, end - start)
                block = part.file.read(start, length)
                if len(block) != length:
                    raise refusal("a file of the model changed while it was read; try again")
                whole.write(block)
        return whole.getvalue()


class _Inliner:
    def __init__(self, find: FindFile, most_bytes: int) -> None:
        self._find = find
        self._most_bytes = most_bytes
        self.byte_count = 0
        self._field_count = 0
        self._files: dict[str, ValueFile] = {}

    def rewrite(self, content: bytes | memoryview, kind: str, depth: int, target: _Message) -> None:
        """Append a message's parts, with tensors that hold their values."""
        if depth > _MOST_DEPTH:
            raise MalformedError
        children = _CHILDREN[kind]
        for field in self._fields(content):
            child = children.get(field.number)
            if child is None or field.payload is None:
                target.add(field.whole)
                continue
            inner = _Message()
            if child == _TENSOR:
                self._add_tensor(field.payload, inner)
            else:
                self.rewrite(field.payload, child, depth + 1, inner)
            target.add_field(field.number, inner)

    def _fields(self, content: bytes | memoryview) -> Iterator[Field]:
        for field in fields(content):
            self._field_count += 1
            if self._field_count > _MOST_FIELDS:
                raise refusal(
                    f"the model has more than {_MOST_FIELDS:,} parts, too many to find the values "
                    "that lie in other files; save it in one piece"
                )
            yield field

    def _add_tensor(self, content: memoryview, target: _Message) -> None:
        parts = list(self._fields(content))
        external = [part for part in parts if part.number == _EXTERNAL]
        location = [varint_of(part) for part in parts if part.number == _LOCATION]
        if not external or (location or [0])[-1] != _IS_EXTERNAL:
            target.add(content)
            return
        kept = [part for part in parts if part.number not in {_RAW, _EXTERNAL, _LOCATION}]
        for part in kept:
            if part.number < _RAW:
                target.add(part.whole)
        target.add_field(_RAW, self._values(parts, _entries(external)))
        for part in kept:
            if part.number > _RAW:
                target.add(part.whole)

    def _values(self, parts: list[Field], entries: Mapping[str, str]) -> _Values:
        name = _text_of(parts, _NAME)
        location = _checked(entries.get("location", ""), name)
        file = self._found(location)
        size = file.byte_count
        start = _whole_number(entries.get("offset", "0"), name)
        expected = _byte_count(parts)
        length = size - start if expected is None else expected
        if "length" in entries:
            length = _whole_number(entries["length"], name)
        if expected not in {None, length}:
            raise refusal(f'tensor "{name}" has {length:,} bytes in "{location}", not {expected:,}')
        if length < 0 or start + length > size:
            raise refusal(
                f'tensor "{name}" ends after "{location}", which has {size:,} bytes: the file is '
                "cut short, or of another model"
            )
        self.byte_count += max(1, length)
        if self.byte_count > self._most_bytes:
            fault = (
                f"the files of the model hold more than {self._most_bytes:,} bytes of its values"
            )
            raise ExplainError("MODEL_TOO_LARGE", fault, "model", "INVALID_ARGUMENT")
        return _Values(file, start, length)

    def _found(self, location: str) -> ValueFile:
        if location not in self._files:
            self._files[location] = self._find(location)
        return self._files[location]


def _entries(external: list[Field]) -> Mapping[str, str]:
    """Return the entries of a tensor about its file."""
    pairs = [list(fields(entry.payload or memoryview(b""))) for entry in external]
    found = {_text_of(pair, 1): _text_of(pair, 2) for pair in pairs}
    if len(found) < len(pairs):
        raise refusal("a tensor names its file in two ways")
    return found


def _checked(location: str, tensor: str) -> str:
    """Return the name of a file in the folder of the model or below it, without `./`."""
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    is_below = not (posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts)
    if not posix.name or not location.isprintable() or not is_below or ":" in location:
        raise refusal(
            f'tensor "{tensor}" names the file {location[:200]!r}; it must lie in the folder of '
            "the model, or below it"
        )
    return str(posix)


def _byte_count(parts: list[Field]) -> int | None:
    """Return the bytes that a tensor's values take; None where their type is not known."""
    bits = _BITS.get(next((varint_of(part) for part in parts if part.number == _TYPE), 0))
    dims = [size for part in parts if part.number == _DIMS for size in _sizes(part)]
    return None if bits is None else -(-math.prod(dims) * bits // 8)


def _sizes(part: Field) -> Iterator[int]:
    """Yield dimensions, which may be packed."""
    if part.payload is None:
        yield varint_of(part)
        return
    packed = b"".join(b"\x08" + digits for digits in _packed(bytes(part.payload)))
    yield from (varint_of(field) for field in fields(packed))


def _packed(content: bytes) -> Iterator[bytes]:
    start = 0
    for at, byte in enumerate(content):
        if byte < 0x80:
            yield content[start : at + 1]
            start = at + 1


def _whole_number(text: str, name: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise refusal(f'tensor "{name}" has {text[:50]!r} in place of a whole number')
    return int(text)


def _text_of(parts: list[Field], number: int) -> str:
    payload = next((part.payload for part in parts if part.number == number), None)
    return bytes(payload or b"").decode(errors="replace")
