"""Workers that were taken over: processes that send their parent whatever keeps it busy."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from hostile import takeovers
from hostile.takeovers import BEHAVIOURS
from onnxplain_server.adapters.workers.ipc import arena, arena_reply, arena_request
from onnxplain_server.adapters.workers.ipc.channel import FrameKind
from onnxplain_server.adapters.workers.worker_process import Worker, WorkerRequest
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ReplyFormat, ServiceMethod

__all__ = ["BEHAVIOURS", "EXCHANGE", "taken_over"]

EXCHANGE = WorkerRequest(
    FrameKind.CALL,
    lambda memory: arena_request.pack(memory, Call(ServiceMethod.EXPLAIN, b"")),
    partial(arena_reply.unpack_reply, reply_format=ReplyFormat.PROTOBUF, byte_limit=2**15),
)
"""Request that a worker gets."""


@contextmanager
def taken_over(name: str, arena_bytes: int = 2**16) -> Iterator[Worker]:
    """Start a process that was taken over, as a worker that waits for its first request."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, str(takeovers.__file__), str(theirs.fileno()), name]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    file = arena.create(arena_bytes)
    worker = Worker(process.pid, os.pidfd_open(process.pid), ours, arena.Arena(file, arena_bytes))
    os.close(file)
    try:
        yield worker
    finally:
        if worker._channel.fileno() >= 0:  # a pool has closed a worker that it discarded
            worker.close()
        process.kill()
        process.wait()
