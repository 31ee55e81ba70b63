"""Frames on the socket of a session: a computation asks, the process that calls answers.

Frames have the numbers of their calls: many are under way, and answers come in any order.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    Buffer,
    decoded,
    receive_exactly,
)
from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.errors import Reason

CONTENT_LIMIT = 2**27
"""Bytes of rows or of predictions of one call."""

_TOLD_LIMIT = 2**22
"""Bytes of a description."""

_ERROR_LIMIT = 2**14
_BINDING = struct.Struct("<dI")
_BINDING_LIMIT = 2**24
_REPORT_LIMIT = 2**12


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
