"""Frames between a worker of a server and the process that has the Dask client.

One queue is open at a time: OPEN with job and pass, or OPEN_PREDICTIONS with model and job, then
tasks, whose replies come in any order; CLOSE ends it, and is answered behind all replies. Neither
end trusts the other. The server gets FAILED by the socket that binds a session, and STATE by one of
its own.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Set
from dataclasses import astuple, dataclass, fields
from enum import Enum
from hashlib import sha256

from onnxplain_server.adapters.workers.ipc.payloads import PARENT_REASONS
from onnxplain_server.core.counts.cluster_counts import ClusterCounts, ClusterState
from onnxplain_server.core.errors import ExplainError, Reason

CONTENT_LIMIT = 2**29
"""Bytes of what a queue is opened with, or of the result of a task."""
ROWS_LIMIT = 2**28
"""Bytes of the rows to predict of one task, and of all tasks that are under way."""

_HEADER = struct.Struct("<cIQ")
_PARTS = struct.Struct("<Q")
_TASK = struct.Struct("<II")
_WIDTH = struct.Struct("<I")
_FIRST_BYTES = 2**20
_DIGEST_BYTES = sha256().digest_size
WITHHELD = ExplainError(
    Reason.SOURCE_UNAVAILABLE, "the Dask cluster failed; the server knows how", "table"
)
"""What a worker tells where the cluster failed: the server asks the process for the error itself.

Reasons like UNAVAILABLE, on which operations and alerts depend, are none that a worker may tell.
"""
_OF_WORKERS = frozenset(Reason) - PARENT_REASONS - {Reason.INTERNAL}
_OF_CLUSTER = frozenset({Reason.UNAVAILABLE, Reason.WORKER_DIED})
FAILURE_LIMIT = 2**14
_STATE_LIMIT = 2**10


class TaskBrokenError(Exception):
    """End of the other side, or content that breaks the protocol."""


class TaskKind(Enum):
    """Kind of a frame; a worker sends OPEN to CLOSE, the process the others."""

    OPEN = b"O"
    OPEN_PREDICTIONS = b"P"
    TASK = b"T"
    CLOSE = b"X"
    CLOSED = b"x"
    RESULT = b"R"
    WIDTH = b"W"
    FAILED = b"E"
    STATE = b"S"


TO_PASS = {TaskKind.OPEN: CONTENT_LIMIT}
TO_PREDICT = {TaskKind.OPEN_PREDICTIONS: CONTENT_LIMIT}
IN_PASS = {TaskKind.TASK: _TASK.size, TaskKind.CLOSE: 0}
IN_PREDICTIONS = {TaskKind.TASK: ROWS_LIMIT, TaskKind.CLOSE: 0}
ANSWERED = {
    TaskKind.CLOSED: 0,
    TaskKind.RESULT: CONTENT_LIMIT,
    TaskKind.WIDTH: _WIDTH.size,
    TaskKind.FAILED: FAILURE_LIMIT,
}
TOLD_STATE = {TaskKind.STATE: _STATE_LIMIT}


@dataclass(frozen=True, slots=True)
class TaskFrame:
    """Frame; `number` is that of a task in its pass."""

    kind: TaskKind
    number: int = 0
    content: bytes | bytearray = b""


def send(end: socket.socket, frame: TaskFrame) -> None:
    """Send a frame; TaskBrokenError."""
    try:
        end.sendall(_HEADER.pack(frame.kind.value, frame.number, len(frame.content)))
        end.sendall(frame.content)
    except OSError:
        raise TaskBrokenError from None


def receive(end: socket.socket, accepted: Mapping[TaskKind, int]) -> TaskFrame:
    """Receive a frame of these kinds, each of at most so many bytes; TaskBrokenError.

    It is broken as well where the socket's timeout ends.
    """
    code, number, length = _HEADER.unpack(_exactly(end, _HEADER.size))
    kinds = {kind.value: kind for kind in accepted}
    if code not in kinds or length > accepted[kinds[code]]:
        raise TaskBrokenError
    return TaskFrame(kinds[code], number, _exactly(end, length))


def pack_binding(model_key: str, blocks: bytes | bytearray) -> bytes:
    """Encode what a session is bound to: the digest of caller and model, and `SourceBlocks`."""
    return sha256(model_key.encode()).digest() + blocks


def unpack_binding(content: bytearray) -> tuple[str, bytearray]:
    """Decode the output of `pack_binding`; the digest in hexadecimal digits."""
    return content[:_DIGEST_BYTES].hex(), content[_DIGEST_BYTES:]


def pack_open(first: bytes, second: bytes) -> bytes:
    """Encode job and pass, or model and job."""
    return b"".join((_PARTS.pack(len(first)), first, second))


def unpack_open(content: bytes | bytearray) -> tuple[bytes, bytes]:
    """Decode the output of `pack_open`; TaskBrokenError."""
    if len(content) < _PARTS.size:
        raise TaskBrokenError
    (size,) = _PARTS.unpack_from(content)
    end = _PARTS.size + size
    if end > len(content):
        raise TaskBrokenError
    return bytes(content[_PARTS.size : end]), bytes(content[end:])


def pack_task(task: tuple[int, int]) -> bytes:
    """Encode the blocks of a task."""
    return _TASK.pack(*task)


def unpack_task(content: bytes | bytearray) -> tuple[int, int]:
    """Decode the output of `pack_task`; TaskBrokenError."""
    if len(content) != _TASK.size:
        raise TaskBrokenError
    first, last = _TASK.unpack(content)
    return first, last


def pack_rows(task: bytes) -> bytes:
    """Encode the rows of a task: they are bytes already."""
    return task


def pack_width(count: int) -> bytes:
    """Encode the threads of the cluster."""
    return _WIDTH.pack(min(count, 2**32 - 1))


def unpack_width(content: bytes | bytearray) -> int:
    """Decode the output of `pack_width`; TaskBrokenError."""
    if len(content) != _WIDTH.size:
        raise TaskBrokenError
    count: int = _WIDTH.unpack(content)[0]
    return count


def is_of_worker(error: ExplainError) -> bool:
    """Return whether a worker may tell an error, as one of the table or the model."""
    return error.reason in _OF_WORKERS


def is_withheld(error: ExplainError) -> bool:
    """Return whether an error stands for one of the cluster."""
    return (error.reason, error.message) == (WITHHELD.reason, WITHHELD.message)


def pack_failure(error: ExplainError) -> bytes:
    """Encode an error."""
    return json.dumps([error.reason.name, error.message, error.field]).encode()


def unpack_failure(content: bytes | bytearray) -> ExplainError:
    """Decode an error that a worker may tell; TaskBrokenError where it is none."""
    return _unpack(content, _OF_WORKERS)


def unpack_cluster_failure(content: bytes | bytearray) -> ExplainError:
    """Decode an error of the cluster; TaskBrokenError where it is none."""
    return _unpack(content, _OF_CLUSTER)


def pack_state(state: ClusterState) -> bytes:
    """Encode the state of the cluster."""
    return json.dumps([state.worker_count, *astuple(state.counts)]).encode()


def unpack_state(content: bytes | bytearray) -> ClusterState:
    """Decode the output of `pack_state`; TaskBrokenError."""
    document = _loaded(content)
    if not isinstance(document, list) or len(document) != 1 + len(fields(ClusterCounts)):
        raise TaskBrokenError
    worker_count, *counts = document
    numbers = counts if worker_count is None else document
    if any(type(number) is not int or number < 0 for number in numbers):
        raise TaskBrokenError
    return ClusterState(ClusterCounts(*counts), worker_count)


def _loaded(content: bytes | bytearray) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise TaskBrokenError from None


def _unpack(content: bytes | bytearray, accepted: Set[Reason]) -> ExplainError:
    document = _loaded(content)
    if not isinstance(document, list) or [*map(type, document)] != [str, str, str]:
        raise TaskBrokenError
    name, message, field = document
    if name not in {reason.name for reason in accepted}:
        raise TaskBrokenError
    return ExplainError(Reason[name], message, field)


def _exactly(end: socket.socket, length: int) -> bytearray:
    """Receive so many bytes, which are allocated as they come."""
    content = bytearray()
    while len(content) < length:
        try:
            part = end.recv(min(length - len(content), _FIRST_BYTES))
        except OSError:
            raise TaskBrokenError from None
        if not part:
            raise TaskBrokenError
        content += part
    return content
