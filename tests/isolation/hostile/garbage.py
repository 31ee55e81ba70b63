"""Cases (a) and (h): bytes that are no model, and models above the size limit."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hostile.base import BROKEN, REFUSED, Hostile, hostile, model, node
from onnxplain_server.core.errors import Reason

_MEMORY = frozenset(
    {Reason.OUT_OF_MEMORY, Reason.MODEL_TOO_COMPLEX, Reason.LOADING_TOO_LONG, Reason.WORKER_DIED}
)
"""Reading takes a hundred times their size; on a slow machine it takes too long."""


def hostiles() -> Iterator[Hostile]:
    generator = random.Random(0)  # noqa: S311 - test data, not a secret
    whole = model([node("Neg", "X")]).SerializeToString()
    for length in (1, 2, 7, 64, 1_000, 100_000):
        yield hostile(f"a-random-{length}", generator.randbytes(length), REFUSED)
    for end in range(1, len(whole), 9):
        yield hostile(f"a-truncated-{end}", whole[:end], REFUSED, may_answer=True)
    for name, content in (
        ("zip", b"PK\x03\x04" + bytes(60)),
        ("elf", b"\x7fELF" + bytes(60)),
        ("pickle", b"\x80\x04\x95\x1a\x00cos\nsystem\n(S'id'\ntR."),
        ("script", b"#!/bin/sh\necho owned\n"),
        ("json", b'{"graph": {"node": []}}'),
        ("html", b"<html><script>alert(1)</script></html>"),
        ("zeros", bytes(1_000)),
        ("ones", b"\xff" * 1_000),
        ("length-beyond-the-end", b"\x3a\xff\xff\xff\xff\x0f"),
        ("endless-number", b"\x08" + b"\xff" * 20),
        ("deep-groups", b"\x3b" * 5_000),
    ):
        yield hostile(f"a-{name}", content, REFUSED)
    yield hostile("a-twice", whole + whole, BROKEN | REFUSED, may_answer=True)
    yield hostile("a-text-that-is-none", whole.replace(b"X", b"\xff"), REFUSED)
    yield hostile("h-many-texts", whole + b"\x12\x00" * 1_000_000, _MEMORY, may_answer=True)
    yield hostile("h-nodes", graph_of(b"\x0a\x00" * 5_000_000), _MEMORY | BROKEN)
    yield hostile("h-initializers", graph_of(b"\x2a\x00" * 2_000_000), _MEMORY)


def graph_of(body: bytes) -> bytes:
    """A model whose graph has these bytes too."""
    size, length = len(body), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return model([node("Neg", "X")]).SerializeToString() + b"\x3a" + bytes(length) + body
