"""Frames on the socket of a session: a computation asks, the process that calls answers.

Each frame has a kind, the number of its call and a length. Many calls are under way, answers come
in any order. Neither end trusts the other: what breaks the protocol ends the session. HTTP on a
socket of the file system would need a port or a file, which a worker cannot open.
"""

from __future__ import annotations

import json
import math
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.errors import ExplainError, Reason

Buffer: TypeAlias = bytes | bytearray | memoryview

CONTENT_LIMIT = 2**27
"""Bytes of rows or of predictions of one call."""

_TOLD_LIMIT = 2**22
"""Bytes of a description."""

_ERROR_LIMIT = 2**14
_HEADER = struct.Struct("<cIQ")
_JOINED_BYTES = 2**16
_FIRST_BYTES = 2**20
"""Allocated for content before any of it came."""

_BINDING = struct.Struct("<dI")
_BINDING_LIMIT = 2**24
_REPORT_LIMIT = 2**12


class BrokenError(Exception):
    """End of the other side, or content that breaks the protocol."""


class CallKind(Enum):
    """Kind of a frame; DESCRIBE and PREDICT ask, the others answer."""

    DESCRIBE = b"D"
    PREDICT = b"P"
    OPENED = b"O"
    DESCRIBED = b"d"
    PREDICTED = b"p"
    FAILED = b"E"


ASKED: Mapping[CallKind, int] = {CallKind.DESCRIBE: 0, CallKind.PREDICT: CONTENT_LIMIT}
"""Frames that the process takes, each with the bytes of its largest content."""

ANSWERED: Mapping[CallKind, int] = {
    CallKind.OPENED: 256,
    CallKind.DESCRIBED: _TOLD_LIMIT,
    CallKind.PREDICTED: CONTENT_LIMIT,
    CallKind.FAILED: _ERROR_LIMIT,
}
"""Frames that a computation takes."""

REASONS = frozenset(
    {
        *(Reason.REMOTE_MODEL_NOT_LISTED, Reason.REMOTE_MODEL_NOT_FOUND),
        *(Reason.REMOTE_MODEL_FORBIDDEN, Reason.REMOTE_MODEL_UNAVAILABLE),
        *(Reason.REMOTE_MODEL_ANSWER, Reason.PREDICTION_FAILED, Reason.INVALID_REQUEST),
        *(Reason.WRONG_TYPE, Reason.OUT_OF_MEMORY, Reason.CANCELLED, Reason.INTERNAL),
    }
)
"""Reasons that a call may fail by. The server itself tells of deadlines."""


@dataclass(frozen=True, slots=True)
class CallFrame:
    """Frame; `call` is the number of the call in its session."""

    kind: CallKind
    call: int
    content: Buffer = b""


@dataclass(frozen=True, slots=True)
class Binding:
    """Model and deadline that a session is bound to; the server's word, which the process trusts.

    Attributes
    ----------
    model : bytes
        Serialised RemoteModel.
    deadline : float
        Monotonic time, which is the same in all processes; may be infinite.
    """

    model: bytes
    deadline: float


def send_frame(
    end: socket.socket, kind: CallKind, call: int, content: Sequence[Buffer] = ()
) -> None:
    """Send a frame, whose content comes in parts; OSError."""
    header = _HEADER.pack(kind.value, call, sum(map(len, content)))
    if sum(map(len, content)) <= _JOINED_BYTES:
        end.sendall(b"".join((header, *content)))
        return
    end.sendall(header)
    for part in content:
        end.sendall(part)


def receive_frame(end: socket.socket, accepted: Mapping[CallKind, int]) -> CallFrame:
    """Receive a frame of these kinds, each of at most so many bytes.

    Raises
    ------
    BrokenError
        Also at the end of the other side.
    """
    code, call, length = _HEADER.unpack(receive_exactly(end, _HEADER.size))
    kinds = {kind.value: kind for kind in accepted}
    if code not in kinds or length > accepted[kinds[code]]:
        raise BrokenError
    return CallFrame(kinds[code], call, receive_exactly(end, length))


def receive_exactly(end: socket.socket, length: int) -> bytearray:
    """Receive so many bytes, which are allocated as they come; BrokenError."""
    content = bytearray(min(length, _FIRST_BYTES))
    filled = 0
    while filled < length:
        if filled == len(content):
            content += bytes(min(filled, length - filled))
        try:
            with memoryview(content) as view, view[filled:] as rest:
                count = end.recv_into(rest)
        except OSError:
            raise BrokenError from None
        if not count:
            raise BrokenError
        filled += count
    return content


def send_binding(lease: socket.socket, binding: Binding) -> None:
    """Send what a session is bound to; OSError."""
    lease.sendall(_BINDING.pack(binding.deadline, len(binding.model)) + binding.model)


def receive_binding(lease: socket.socket) -> Binding:
    """Receive what a session is bound to; its sender is trusted."""
    deadline, length = _BINDING.unpack(receive_exactly(lease, _BINDING.size))
    if length > _BINDING_LIMIT:
        raise BrokenError
    return Binding(bytes(receive_exactly(lease, length)), deadline)


def pack_limits(call_count: int, row_limit: int) -> bytes:
    """Encode the most calls at a time, and the most rows of a call."""
    return json.dumps([call_count, row_limit]).encode()


def unpack_limits(content: Buffer) -> tuple[int, int]:
    """Decode the output of `pack_limits`; BrokenError."""
    match decoded(content):
        case [int(call_count), int(row_limit)] if call_count > 0 and row_limit > 0:
            return call_count, row_limit
    raise BrokenError


def pack_error(error: ExplainError) -> bytes:
    """Encode an error whose reason is one of `REASONS`."""
    return json.dumps([error.reason.name, error.message, error.field, error.retry_seconds]).encode()


def unpack_error(content: Buffer) -> ExplainError:
    """Decode an error; BrokenError where it is none of `REASONS`."""
    match decoded(content):
        case [str(name), str(message), str(field), None | int() | float() as seconds]:
            reason = Reason.__members__.get(name)
            if reason in REASONS and (seconds is None or 0 <= seconds < math.inf):
                after = None if seconds is None else float(seconds)
                return ExplainError(Reason[name], message, field, retry_seconds=after)
    raise BrokenError


def pack_counts(counts: CallCounts) -> bytes:
    """Encode counts."""
    numbers = (counts.call_count, counts.retry_count, counts.row_count, counts.failure_count)
    return json.dumps(numbers).encode()


def unpack_counts(content: Buffer) -> CallCounts:
    """Decode counts; BrokenError."""
    numbers = decoded(content) if len(content) <= _REPORT_LIMIT else None
    if not isinstance(numbers, list) or len(numbers) != 4:
        raise BrokenError
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise BrokenError
    return CallCounts(*numbers)


def decoded(content: Buffer) -> Any:
    """Decode JSON; BrokenError."""
    try:
        return json.loads(bytes(content))
    except (ValueError, RecursionError):
        raise BrokenError from None
