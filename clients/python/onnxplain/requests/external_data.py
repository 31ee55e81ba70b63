"""Models in several files: tensors whose values lie beside the model are put into it.

What comes out is the model as if it had been saved in one piece, byte for byte as protobuf orders
fields, so that its identity does not depend on how it was cut. Needs no onnx package.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnxplain.errors import ExplainError
from onnxplain.requests.wire_fields import Field, MalformedError, fields, length_field, varint_of

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


def read_model(path: Path) -> bytes:
    """Read a model, and the files beside it that it names, as one piece.

    Raises
    ------
    OSError
        Where the model's own file cannot be read.
    ExplainError
        EXTERNAL_DATA where another file is missing, lies outside of the model's folder, or does
        not fit; MODEL_TOO_LARGE for more than 2 GB in all.
    """
    return in_one_piece(path.read_bytes(), path.parent)


def in_one_piece(content: bytes, folder: Path) -> bytes:
    """Put the values of files in a folder into the model that names them; see `read_model`.

    What is no ONNX model, or names no file, is returned as it is.
    """
    if b"location" not in content:
        return content
    inliner = _Inliner(folder)
    try:
        parts = list(inliner.rewritten(content, "model", 0))
    except MalformedError:
        return content  # the service says what is wrong
    return b"".join(parts) if inliner.byte_count else content


class _Inliner:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.byte_count = 0

    def rewritten(self, content: bytes | memoryview, kind: str, depth: int) -> Iterator[bytes]:
        """Yield a message's bytes, with tensors that hold their values."""
        if depth > _MOST_DEPTH:
            raise MalformedError
        children = _CHILDREN[kind]
        for field in fields(content):
            child = children.get(field.number)
            if child is None or field.payload is None:
                yield bytes(field.whole)
            elif child == _TENSOR:
                yield length_field(field.number, self._tensor(field.payload))
            else:
                inner = b"".join(self.rewritten(field.payload, child, depth + 1))
                yield length_field(field.number, inner)

    def _tensor(self, content: memoryview) -> bytes:
        parts = list(fields(content))
        external = [part for part in parts if part.number == _EXTERNAL]
        location = [varint_of(part) for part in parts if part.number == _LOCATION]
        if not external or (location or [0])[-1] != _IS_EXTERNAL:
            return bytes(content)
        values = length_field(_RAW, self._values(parts, _entries(external)))
        kept = [part for part in parts if part.number not in {_RAW, _EXTERNAL, _LOCATION}]
        before = b"".join(bytes(part.whole) for part in kept if part.number < _RAW)
        after = b"".join(bytes(part.whole) for part in kept if part.number > _RAW)
        return before + values + after

    def _values(self, parts: list[Field], entries: Mapping[str, str]) -> bytes:
        name = _text_of(parts, _NAME)
        file = _checked_path(self._folder, entries.get("location", ""), name)
        size = file.stat().st_size
        start = _whole_number(entries.get("offset", "0"), name)
        expected = _byte_count(parts)
        length = size - start if expected is None else expected
        if "length" in entries:
            length = _whole_number(entries["length"], name)
        if expected not in {None, length}:
            raise _refusal(
                f'tensor "{name}" has {length:,} bytes in "{file.name}", not {expected:,}'
            )
        if length < 0 or start + length > size:
            raise _refusal(
                f'tensor "{name}" ends after "{file.name}", which has {size:,} bytes: the file is '
                "cut short, or of another model"
            )
        self.byte_count += max(1, length)
        if self.byte_count > MOST_BYTES:
            fault = "the model and the files that it names have more than 2 GB"
            raise ExplainError("MODEL_TOO_LARGE", fault, "model", "INVALID_ARGUMENT")
        with file.open("rb") as opened:
            opened.seek(start)
            return opened.read(length)


def _entries(external: list[Field]) -> Mapping[str, str]:
    """Return the entries of a tensor about its file."""
    pairs = [list(fields(entry.payload or memoryview(b""))) for entry in external]
    found = {_text_of(pair, 1): _text_of(pair, 2) for pair in pairs}
    if len(found) < len(pairs):
        raise _refusal("a tensor names its file in two ways")
    return found


def _checked_path(folder: Path, location: str, name: str) -> Path:
    """Return the path of a file in the folder of the model, or below it."""
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    is_below = not (posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts)
    if not location or not location.isprintable() or not is_below or ":" in location:
        raise _refusal(
            f'tensor "{name}" names the file {location[:200]!r}; it must lie in the folder of the '
            "model, or below it"
        )
    path = folder / location
    try:
        real, root = path.resolve(strict=True), folder.resolve(strict=True)
        is_file = stat.S_ISREG(real.stat().st_mode)
    except OSError:
        raise _refusal(
            f'the model has values in the file "{location[:200]}", which cannot be read in '
            f"{folder.absolute()}; put it there, under this name"
        ) from None
    if not real.is_relative_to(root) or not is_file:
        raise _refusal(f'"{location[:200]}" leads out of the folder of the model, or is no file')
    return real


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
        raise _refusal(f'tensor "{name}" has {text[:50]!r} in place of a whole number')
    return int(text)


def _text_of(parts: list[Field], number: int) -> str:
    payload = next((part.payload for part in parts if part.number == number), None)
    return bytes(payload or b"").decode(errors="replace")


def _refusal(message: str) -> ExplainError:
    return ExplainError("EXTERNAL_DATA", message, "model", "INVALID_ARGUMENT")
