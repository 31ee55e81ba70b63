"""Parts of an answer as operations keep them: published with their index, and sent in one body."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from onnxplain.v1.explanation_service_pb2 import PartialExplanation

_HEAD = struct.Struct("<I")


def pack_part(part: PartialExplanation) -> bytes:
    """Return index and serialised part: who keeps it need not parse it."""
    return _HEAD.pack(part.index) + bytes(part.SerializeToString())


def split_part(packed: bytes) -> tuple[int, bytes] | None:
    """Return index and serialised part; None of bytes that are too short."""
    if len(packed) < _HEAD.size:
        return None
    (index,) = _HEAD.unpack_from(packed)
    return index, packed[_HEAD.size :]


def join_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield serialised parts, each behind its length."""
    for part in parts:
        yield _HEAD.pack(len(part))
        yield part


def separate_parts(content: bytes) -> Iterator[bytes]:
    """Yield the parts that `join_parts` joined; raises ValueError where one is cut."""
    at = 0
    while at < len(content):
        if at + _HEAD.size > len(content):
            raise ValueError("a length is cut")
        (size,) = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        if at + size > len(content):
            raise ValueError("a part is cut")
        yield content[at : at + size]
        at += size
