"""Frames between a worker of a server and the process that has the Dask client.

One queue is open at a time: OPEN with job and pass, or OPEN_PREDICTIONS with model and job, then
tasks, whose replies come in any order; CLOSE ends it, and is answered behind all replies. The
server gets FAILED by the socket that binds a session, and STATE by one of its own.
"""

from __future__ import annotations

import json
import struct
from dataclasses import astuple, fields
from enum import Enum
from hashlib import sha256

from onnxplain_server.adapters.network_processes.socket_frames import BrokenError, decoded
from onnxplain_server.adapters.workers.ipc.payloads import PARENT_REASONS
from onnxplain_server.core.counts.cluster_counts import ClusterCounts, ClusterState
from onnxplain_server.core.errors import ExplainError, Reason

CONTENT_LIMIT = 2**29
"""Bytes of what a queue is opened with, or of the result of a task."""
ROWS_LIMIT = 2**28
"""Bytes of the rows to predict of one task, and of all tasks that are under way."""

_PARTS = struct.Struct("<Q")
_TASK = struct.Struct("<II")
_WIDTH = struct.Struct("<I")
_DIGEST_BYTES = sha256().digest_size
WITHHELD = ExplainError(
    Reason.SOURCE_UNAVAILABLE, "the Dask cluster failed; the server knows how", "table"
)
"""What a worker tells where the cluster failed: the server asks the process for the error itself.

Reasons like UNAVAILABLE, on which operations and alerts depend, are none that a worker may tell.
"""
OF_WORKERS = frozenset(Reason) - PARENT_REASONS - {Reason.INTERNAL}
OF_CLUSTER = frozenset({Reason.UNAVAILABLE, Reason.WORKER_DIED})
FAILURE_LIMIT = 2**14
_STATE_LIMIT = 2**10


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
    """Decode the output of `pack_open`; BrokenError."""
    if len(content) < _PARTS.size:
        raise BrokenError
    (size,) = _PARTS.unpack_from(content)
    end = _PARTS.size + size
    if end > len(content):
        raise BrokenError
    return bytes(content[_PARTS.size : end]), bytes(content[end:])


def pack_task(task: tuple[int, int]) -> bytes:
    """Encode the blocks of a task."""
    return _TASK.pack(*task)


def unpack_task(content: bytes | bytearray) -> tuple[int, int]:
    """Decode the output of `pack_task`; BrokenError."""
    if len(content) != _TASK.size:
        raise BrokenError
    first, last = _TASK.unpack(content)
    return first, last


def pack_rows(task: bytes) -> bytes:
    """Encode the rows of a task: they are bytes already."""
    return task


def pack_width(count: int) -> bytes:
    """Encode the threads of the cluster."""
    return _WIDTH.pack(min(count, 2**32 - 1))


def unpack_width(content: bytes | bytearray) -> int:
    """Decode the output of `pack_width`; BrokenError."""
    if len(content) != _WIDTH.size:
        raise BrokenError
    count: int = _WIDTH.unpack(content)[0]
    return count


def is_of_worker(error: ExplainError) -> bool:
    """Return whether a worker may tell an error, as one of the table or the model."""
    return error.reason in OF_WORKERS


def is_withheld(error: ExplainError) -> bool:
    """Return whether an error stands for one of the cluster."""
    return (error.reason, error.message) == (WITHHELD.reason, WITHHELD.message)


def pack_state(state: ClusterState) -> bytes:
    """Encode the state of the cluster."""
    return json.dumps([state.worker_count, *astuple(state.counts)]).encode()


def unpack_state(content: bytes | bytearray) -> ClusterState:
    """Decode the output of `pack_state`; BrokenError."""
    document = decoded(content)
    if not isinstance(document, list) or len(document) != 1 + len(fields(ClusterCounts)):
        raise BrokenError
    worker_count, *counts = document
    numbers = counts if worker_count is None else document
    if any(type(number) is not int or number < 0 for number in numbers):
        raise BrokenError
    return ClusterState(ClusterCounts(*counts), worker_count)
