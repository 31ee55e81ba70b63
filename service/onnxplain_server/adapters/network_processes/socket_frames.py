"""Frames on a socket to a process that has the network: kind, number and length, then content.

Neither end trusts the other: a frame of another kind, or a longer one, breaks the connection, and
content is allocated as it comes. `multiprocessing.connection` would unpickle what comes; gRPC and
HTTP need a port or a file, which a confined process cannot open, and threads. Workers that compute
have a channel of their own, which never blocks: `workers.ipc.channel`.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from onnxplain_server.core.errors import ExplainError, Reason

Buffer: TypeAlias = bytes | bytearray | memoryview
Kind = TypeVar("Kind", bound=Enum)
"""Kinds of a protocol: each value is one byte."""

_HEADER = struct.Struct("<cIQ")
_JOINED_BYTES = 2**16
_RETRY_LIMIT = 1e9
"""Seconds after which an error may tell to come back: more than replies can tell is no error."""
_ZEROS = memoryview(bytes(2**20))
"""Allocated at a time, before that much came."""


class BrokenError(Exception):
    """End of the other side, or content that breaks the protocol."""


@dataclass(frozen=True, slots=True)
class SocketFrame(Generic[Kind]):
    """Frame; `number` is that of a call or a task, where several are under way."""

    kind: Kind
    number: int = 0
    content: bytes | bytearray = b""


def send(end: socket.socket, kind: Enum, number: int = 0, *content: Buffer) -> None:
    """Send a frame, whose content may come in parts; BrokenError."""
    length = sum(map(len, content))
    try:
        if length <= _JOINED_BYTES:
            end.sendall(packed(kind, number, *content))
            return
        end.sendall(_HEADER.pack(kind.value, number, length))
        for part in content:
            end.sendall(part)
    except OSError:
        raise BrokenError from None


def packed(kind: Enum, number: int = 0, *content: Buffer) -> bytes:
    """Encode a frame in one piece."""
    header = _HEADER.pack(kind.value, number, sum(map(len, content)))
    return b"".join((header, *content))


def receive(end: socket.socket, accepted: Mapping[Kind, int]) -> SocketFrame[Kind]:
    """Receive a frame of these kinds, each of at most so many bytes.

    Raises
    ------
    BrokenError
        Also at the end of the other side, and where the socket's timeout ends.
    """
    kind, number, length = receive_header(end, accepted)
    content = bytearray()
    receive_onto(end, length, content)
    return SocketFrame(kind, number, content)


def receive_header(end: socket.socket, accepted: Mapping[Kind, int]) -> tuple[Kind, int, int]:
    """Receive kind, number and length of a frame, of which `receive_onto` takes the content."""
    code, number, length = _HEADER.unpack(receive_exactly(end, _HEADER.size))
    kinds = {kind.value: kind for kind in accepted}
    if code not in kinds or length > accepted[kinds[code]]:
        raise BrokenError
    return kinds[code], number, length


def receive_exactly(end: socket.socket, length: int) -> bytearray:
    """Receive so many bytes; BrokenError."""
    content = bytearray()
    receive_onto(end, length, content)
    return content


def receive_onto(end: socket.socket, length: int, content: bytearray) -> None:
    """Receive so many bytes to the end of others, without a copy between; BrokenError."""
    filled, last = len(content), len(content) + length
    while filled < last:
        if filled == len(content):
            content += _ZEROS[: last - filled]
        try:
            with memoryview(content) as view, view[filled:] as rest:
                count = end.recv_into(rest)
        except OSError:
            raise BrokenError from None
        if not count:
            raise BrokenError
        filled += count


def pack_error(error: ExplainError) -> bytes:
    """Encode an error."""
    seconds = error.retry_seconds
    after = None if seconds is None else min(seconds, _RETRY_LIMIT)
    return json.dumps([error.reason.name, error.message, error.field, after]).encode()


def unpack_error(content: Buffer, reasons: Set[Reason]) -> ExplainError:
    """Decode an error; BrokenError where it has none of these reasons."""
    match decoded(content):
        case [str(name), str(message), str(field), None | int() | float() as seconds]:
            reason = Reason.__members__.get(name)
            if reason in reasons and (seconds is None or 0 <= seconds <= _RETRY_LIMIT):
                after = None if seconds is None else float(seconds)
                return ExplainError(Reason[name], message, field, retry_seconds=after)
    raise BrokenError


def decoded(content: Buffer) -> Any:
    """Decode JSON; BrokenError."""
    try:
        return json.loads(bytes(content))
    except (ValueError, RecursionError):
        raise BrokenError from None
