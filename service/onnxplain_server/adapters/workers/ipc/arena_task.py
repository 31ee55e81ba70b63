"""Layout of tasks in the arena: of a pass, with the files of its table, and of predictions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import MalformedError

Size = tuple[str, int]
"""Name of a file, for messages, and its bytes."""


@dataclass(frozen=True, slots=True)
class PackedTask:
    """A task as the parent hands it to a worker.

    Attributes
    ----------
    job, work : bytes
    sizes : sequence of (str, int)
        Names of the files, for messages, and their bytes; they are read by ranges: `range_name`.
    first, last : int
        Blocks of the table, from number `first` up to `last`.
    """

    job: bytes
    work: bytes
    sizes: Sequence[Size]
    first: int
    last: int


def pack(arena: Arena, task: PackedTask) -> bytes:
    """Write a task; return the payload of the frame."""
    arena.put(task.job, task.work)
    layout = [len(task.job), len(task.work), list(task.sizes), task.first, task.last]
    return json.dumps(layout).encode()


def unpack(arena: Arena, payload: bytes) -> PackedTask:
    """Read a task; the parent, which wrote it, is trusted."""
    job_size, work_size, sizes, first, last = json.loads(payload)
    job, work = arena.get(job_size), arena.get(work_size, job_size)
    return PackedTask(job, work, [(name, count) for name, count in sizes], first, last)


def pack_predictions(arena: Arena, model: bytes, job: bytes, rows: bytes) -> bytes:
    """Write a task of predictions; return the payload of the frame."""
    arena.put(model, job, rows)
    return json.dumps([len(model), len(job), len(rows)]).encode()


def unpack_predictions(arena: Arena, payload: bytes) -> tuple[bytes, bytes, bytes]:
    """Read a task of predictions, as `pack_predictions` was given it."""
    model, job, rows = json.loads(payload)
    return arena.get(model), arena.get(job, model), arena.get(rows, model + job)


def pack_result(arena: Arena, result: bytes) -> bytes:
    """Write sums or predictions; return their header."""
    arena.put(result)
    return json.dumps(len(result)).encode()


def unpack_result(arena: Arena, header: bytes) -> bytes:
    """Read sums or predictions.

    Raises
    ------
    MalformedError
        If the header is not what `pack_result` writes.
    """
    if not (header.isdigit() and int(header) <= arena.byte_count):
        raise MalformedError
    return bytes(arena.copy(int(header)))


def range_name(file: int, start: int, length: int) -> str:
    """Name a range of a file, which a worker asks its parent for as for a cached value."""
    return f"{file}:{start}:{length}"


def parse_range(name: str) -> tuple[int, int, int]:
    """Read the name of a range: file, start and length.

    Raises
    ------
    MalformedError
    """
    parts = name.split(":")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise MalformedError
    file, start, length = map(int, parts)
    return file, start, length
