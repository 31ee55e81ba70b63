"""Worker loop: enters the sandbox, then answers one request at a time until the parent closes."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Protocol, TypeAlias

from google.protobuf.message import DecodeError, EncodeError

from onnxplain_server.adapters.sandbox.confine import confine
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_PARENT,
    ClosedError,
    Frame,
    FrameChannel,
    FrameKind,
    UnableError,
)
from onnxplain_server.adapters.workers.ipc.zygote_arguments import LEARNING_LIBRARY, WorkerSettings
from onnxplain_server.adapters.workers.remote_host import RemoteHost
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Spans

Answerer: TypeAlias = Callable[[Arena, bytes, RemoteHost], bytes]
"""Reads a request from the arena by its frame's payload, writes the answer, returns its header."""

_OUT_OF_MEMORY = (MemoryError, EncodeError, DecodeError)
"""Protobuf tells a failed allocation as an error of encoding, or of decoding what it encoded.

What cannot be decoded of a request is an ExplainError already.
"""


class Program(Protocol):
    """Module of a kind of workers."""

    def load(self) -> None:
        """Import and compile all that answers need; called once, in the zygote."""

    def answerers(self, settings: WorkerSettings) -> Mapping[FrameKind, Answerer]:
        """Return the functions that answer, by the kind of the request's frame."""


def run(end: socket.socket, file: int, settings: WorkerSettings, program: Program) -> None:
    """Answer requests until the parent closes its end; called in a fresh fork without threads."""
    arena, channel = Arena(file, settings.arena_bytes), FrameChannel(end, FROM_PARENT)
    os.close(file)
    missing = confine(settings.budget, settings.thread_count)
    worker = _RequestLoop(program.answerers(settings), arena, channel)
    channel.send(Frame(FrameKind.READY, 0, "\n".join(missing).encode()))
    try:
        limit = settings.budget.processor_seconds / 2
        while not worker.is_exhausted and time.process_time() < limit:
            worker.answer(channel.receive())
    except ClosedError:
        pass


class _RequestLoop:
    """Answers to requests, one at a time."""

    def __init__(
        self, answerers: Mapping[FrameKind, Answerer], arena: Arena, channel: FrameChannel
    ) -> None:
        self._answerers = answerers
        self._arena = arena
        self._channel = channel
        self.is_exhausted = False

    def answer(self, frame: Frame) -> None:
        """Answer a request; ignore a cancellation that arrives too late."""
        if frame.kind not in self._answerers:
            return
        spans = Spans()
        try:
            with spans.collecting():
                kind, packed = FrameKind.ANSWERED, self._compute(frame)
        except UnableError:
            kind, packed = FrameKind.UNABLE, b""
        except ExplainError as error:
            self.is_exhausted = error.reason is Reason.OUT_OF_MEMORY
            kind, packed = FrameKind.REFUSED, payloads.pack_error(error)
        self._channel.queue(
            Frame(FrameKind.SPANS, frame.call, payloads.pack_spans(spans.finished()))
        )
        self._channel.send(Frame(kind, frame.call, packed))

    def _compute(self, frame: Frame) -> bytes:
        """Answer, and return the answer's header; raise ExplainError only."""
        host = RemoteHost(self._channel, frame.call)
        try:
            return self._answerers[frame.kind](self._arena, frame.payload, host)
        except (ExplainError, ClosedError):
            raise
        except ModuleNotFoundError as fault:
            if fault.name == LEARNING_LIBRARY:
                raise UnableError from None
            raise ExplainError(Reason.INTERNAL, _place(fault)) from None
        except _OUT_OF_MEMORY:
            message = (
                "The request needs more memory than this server allows for one request (setting "
                "worker_bytes)."
            )
            raise ExplainError(Reason.OUT_OF_MEMORY, message) from None
        except Exception as fault:  # noqa: BLE001 - nothing else may leave a runner
            raise ExplainError(Reason.INTERNAL, _place(fault)) from None
        finally:
            host.flush()


def _place(fault: Exception) -> str:
    """Return type and line of an error; its text may contain client data."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"
