"""A worker: confined, then answering one request at a time until its parent is gone."""

from __future__ import annotations

import os
import socket
import time
import traceback
from pathlib import PurePath

from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.workers.ipc import arena_request, payloads
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import (
    ClosedError,
    Frame,
    FrameChannel,
    FrameKind,
)
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.adapters.workers.sandbox.resource_limits import confine
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Spans

_MODEL_COUNT = 2
"""A worker serves one model; on both scales."""


def run(end: socket.socket, file: int, order: WorkerSettings) -> None:
    """Answer until the parent closes its end. To be called in a fresh fork, without threads."""
    arena, channel = Arena(file, order.arena_bytes), FrameChannel(end)
    os.close(file)
    missing = confine(order.budget, order.thread_count)
    runner = InProcess(order.thread_count, _MODEL_COUNT, order.limits, loading=RemoteHost.loading)
    child = _Child(runner, arena, channel)
    channel.send(Frame(FrameKind.READY, 0, "\n".join(missing).encode()))
    try:
        while not child.is_worn and time.process_time() < order.budget.processor_seconds / 2:
            child.answer(channel.receive())
    except ClosedError:
        pass


class _Child:
    def __init__(self, runner: InProcess, arena: Arena, channel: FrameChannel) -> None:
        self._methods = {FrameKind.EXPLAIN: runner.explain, FrameKind.DESCRIBE: runner.describe}
        self._arena = arena
        self._channel = channel
        self.is_worn = False

    def answer(self, frame: Frame) -> None:
        """Answer a request; a cancellation that comes too late needs none."""
        if frame.kind not in self._methods:
            return
        spans = Spans()
        try:
            with spans.collecting():
                length = self._compute(frame)
            kind, packed = FrameKind.ANSWERED, payloads.pack_length(length)
        except ExplainError as error:
            self.is_worn = error.reason is Reason.OUT_OF_MEMORY
            kind, packed = FrameKind.REFUSED, payloads.pack_error(error)
        self._channel.queue(
            Frame(FrameKind.SPANS, frame.call, payloads.pack_spans(spans.finished()))
        )
        self._channel.send(Frame(kind, frame.call, packed))

    def _compute(self, frame: Frame) -> int:
        """Read from the arena, compute, write to it; nothing but an ExplainError comes out."""
        host = RemoteHost(self._channel, frame.call)
        try:
            request, blobs = arena_request.unpack(self._arena, frame.payload)
            reply = self._methods[frame.kind](request, blobs, host)
            _check_size(len(reply), self._arena.byte_count)
            self._arena.put(reply)
        except (ExplainError, ClosedError):
            raise
        except MemoryError:
            message = "The request needs more memory than this server allows for one request."
            raise ExplainError(Reason.OUT_OF_MEMORY, message) from None
        except Exception as fault:  # noqa: BLE001 - nothing else may leave a runner
            raise ExplainError(Reason.INTERNAL, _place(fault)) from None
        finally:
            host.hand_over()
        return len(reply)


def _check_size(found: int, limit: int) -> None:
    if found > limit:
        raise ExplainError(
            Reason.OUT_OF_MEMORY,
            f"the answer has {found:,} bytes, at most {limit:,} are sent; "
            "ask for fewer rows, features or grid points, or set plots to false",
        )


def _place(fault: Exception) -> str:
    """Where it happened and of what type; its text may hold a client's data."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"
