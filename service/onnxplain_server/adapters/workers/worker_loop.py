"""Worker loop: enters the sandbox, then answers one request at a time until the parent closes."""

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
    FROM_PARENT,
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
"""A worker serves one model, on both scales."""


def run(end: socket.socket, file: int, settings: WorkerSettings) -> None:
    """Answer requests until the parent closes its end; called in a fresh fork without threads."""
    arena, channel = Arena(file, settings.arena_bytes), FrameChannel(end, FROM_PARENT)
    os.close(file)
    missing = confine(settings.budget, settings.thread_count)
    runner = InProcess(
        settings.thread_count, _MODEL_COUNT, settings.limits, loading=RemoteHost.loading
    )
    worker = _RequestLoop(runner, arena, channel)
    channel.send(Frame(FrameKind.READY, 0, "\n".join(missing).encode()))
    try:
        limit = settings.budget.processor_seconds / 2
        while not worker.is_exhausted and time.process_time() < limit:
            worker.answer(channel.receive())
    except ClosedError:
        pass


class _RequestLoop:
    """Answers to requests, one at a time."""

    def __init__(self, runner: InProcess, arena: Arena, channel: FrameChannel) -> None:
        self._methods = {FrameKind.EXPLAIN: runner.explain, FrameKind.DESCRIBE: runner.describe}
        self._arena = arena
        self._channel = channel
        self.is_exhausted = False

    def answer(self, frame: Frame) -> None:
        """Answer a request; ignore a cancellation that arrives too late."""
        if frame.kind not in self._methods:
            return
        spans = Spans()
        try:
            with spans.collecting():
                length = self._compute(frame)
            kind, packed = FrameKind.ANSWERED, payloads.pack_length(length)
        except ExplainError as error:
            self.is_exhausted = error.reason is Reason.OUT_OF_MEMORY
            kind, packed = FrameKind.REFUSED, payloads.pack_error(error)
        self._channel.queue(
            Frame(FrameKind.SPANS, frame.call, payloads.pack_spans(spans.finished()))
        )
        self._channel.send(Frame(kind, frame.call, packed))

    def _compute(self, frame: Frame) -> int:
        """Read the request from the arena, compute, write the reply; raise ExplainError only."""
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
            host.flush()
        return len(reply)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise ExplainError(
            Reason.OUT_OF_MEMORY,
            f"the answer has {size:,} bytes, at most {limit:,} are sent; "
            "ask for fewer rows, features or grid points, or set plots to false",
        )


def _place(fault: Exception) -> str:
    """Return type and line of an error; its text may contain client data."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"
