"""Layout of a reply in the arena: its bytes, and a small header in the frame, which is checked."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Collection, Sequence
from dataclasses import astuple, fields
from typing import Any

from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import MalformedError
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import (
    REMOTE_FORM,
    Reply,
    ReplyFormat,
    RequestFile,
    RequestParts,
    Work,
)
from onnxplain_server.wire.scanning.field_scan import scan

_ID_LIMIT = 100
_METHODS = frozenset(MethodOptions.DESCRIPTOR.fields_by_name)
_COUNTS = len(fields(Work)) - 1
_FORMS = {
    "model": frozenset({"", "onnx", "uri", REMOTE_FORM}),
    "table": frozenset({"", *Table.DESCRIPTOR.fields_by_name}),
}


def pack_reply(arena: Arena, reply: Reply) -> bytes:
    """Write a reply; return its header."""
    arena.put(*reply.parts)
    return json.dumps([reply.byte_count, *astuple(reply.work)]).encode()


def unpack_reply(
    arena: Arena, header: bytes, reply_format: ReplyFormat, byte_limit: float
) -> Reply:
    """Read a reply.

    Raises
    ------
    MalformedError
        If the header is not what `pack_reply` writes, the reply has more bytes than the limit, or
        is not of its format: JSON on one line in UTF-8, or a message as its tags and lengths tell.
    """
    size, methods, *counts = _items(header, 2 + _COUNTS)
    work = Work(_method_names(methods), *(_count(value) for value in counts))
    if _size(size, arena) > byte_limit:
        raise MalformedError
    if not reply_format.is_json:
        _check_message(arena, size)
    parts = tuple(arena.parts(size))
    if reply_format.is_json:
        check_line(parts)
    return Reply(parts, work)


def check_line(parts: Sequence[bytes]) -> None:
    """Raise MalformedError unless parts are one line of UTF-8 in braces, as an object of JSON."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for part in parts:
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise MalformedError from None
    is_broken = any(mark in part for part in parts for mark in (b"\r", b"\n"))
    if is_broken or not (parts and parts[0].startswith(b"{") and parts[-1].endswith(b"}")):
        raise MalformedError


def _check_message(arena: Arena, size: int) -> None:
    """Raise MalformedError unless the first bytes have the fields of a message."""
    try:
        for _ in scan(arena.memory, 0, size, "reply", ()):
            pass
    except ExplainError:
        raise MalformedError from None


def pack_parts(arena: Arena, parts: RequestParts) -> bytes:
    """Write a request that was split; return its header."""
    files = [parts.model or RequestFile(), parts.table or RequestFile()]
    arena.put(parts.envelope, *(file.content for file in files))
    described = [[file.form, len(file.content), _cut(file.identity)] for file in files]
    return json.dumps([len(parts.envelope), *described, parts.takes_interactions]).encode()


def unpack_parts(arena: Arena, header: bytes) -> RequestParts:
    """Read a request that was split.

    Raises
    ------
    MalformedError
        If the header is not what `pack_parts` writes.
    """
    size, model, table, takes_interactions = _items(header, 4)
    if not isinstance(takes_interactions, bool):
        raise MalformedError
    start = _size(size, arena)
    envelope = bytes(arena.copy(start))
    files: dict[str, RequestFile | None] = {}
    for kind, described in (("model", model), ("table", table)):
        part = _part(arena, described, _FORMS[kind], start)
        start += len(part.content)
        files[kind] = part if part.content or part.identity is not None else None
    return RequestParts(
        envelope, files["model"], files["table"], takes_interactions=takes_interactions
    )


def _part(arena: Arena, described: object, forms: Collection[str], start: int) -> RequestFile:
    form, size, blob_id = _list(described, 3)
    if not (isinstance(form, str) and form in forms):
        raise MalformedError
    if not (blob_id is None or (isinstance(blob_id, str) and len(blob_id) <= _ID_LIMIT)):
        raise MalformedError
    return RequestFile(form, arena.copy(_size(size, arena, start), start), identity=blob_id)


def _method_names(value: object) -> tuple[str, ...]:
    """Check names of methods: known ones, in alphabetical order, each once."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise MalformedError
    if value != sorted(set(value)) or not _METHODS.issuperset(value):
        raise MalformedError
    return tuple(value)


def _count(value: object) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise MalformedError
    return value


def _cut(blob_id: str | None) -> str | None:
    """Cut an id that is too long to be one; it is refused elsewhere."""
    return None if blob_id is None else blob_id[:_ID_LIMIT]


def _items(header: bytes, count: int) -> list[Any]:
    """Decode a header, whose frame is small, so that it cannot be nested deeply."""
    try:
        return _list(json.loads(header), count)
    except (ValueError, RecursionError):
        raise MalformedError from None


def _list(value: object, count: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != count:
        raise MalformedError
    return value


def _size(value: object, arena: Arena, start: int = 0) -> int:
    """Check a size in bytes of what begins at `start`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedError
    if not 0 <= value <= arena.byte_count - start:
        raise MalformedError
    return value
