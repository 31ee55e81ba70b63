"""Worker process, parent side: sends requests, follows, cancels and kills it."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

from onnxplain_server.adapters.workers.frame_server import FrameServer
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_WORKER,
    ClosedError,
    Frame,
    FrameChannel,
    FrameKind,
    MalformedError,
    UnableError,
)
from onnxplain_server.adapters.workers.process_status import private_bytes, processor_seconds
from onnxplain_server.adapters.workers.request_monitor import RequestMonitor
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import ReplyFormat
from onnxplain_server.core.sources import FileRanges

if sys.platform != "linux":
    raise ImportError("of Linux alone")

Answer = TypeVar("Answer")

_READY_SECONDS = 60.0
"""Time limit for the start; milliseconds suffice on an idle machine."""

_GRACE_SECONDS = 0.25
"""Grace period after a cancellation, before the kill."""

_REST_SECONDS, _REST_BYTES = 0.05, 2**26
"""Processor time and growth of a process that rests, at most.

A signal to stop takes a moment, and the kernel may join pages of a stopped process to huge ones.
"""


@dataclass(frozen=True, slots=True)
class WorkerRequest(Generic[Answer]):
    """Request to a worker, and how its answer is read.

    Attributes
    ----------
    kind : FrameKind
    pack : callable (arena) -> bytes
        Writes the request into the arena; returns the payload of its frame.
    unpack : callable (arena, payload) -> Answer
        Reads the answer; raises MalformedError.
    session : callable () -> context manager
        Entered while a worker answers; gives a socket for that worker alone, or None.
    read_range : FileRanges or None
        Reads the request's table, where the worker reads it in blocks.
    reply_format : ReplyFormat
        Of the answer, and of its parts.
    """

    kind: FrameKind
    pack: Callable[[Arena], bytes]
    unpack: Callable[[Arena, bytes], Answer]
    session: Callable[[], AbstractContextManager[socket.socket | None]] = nullcontext
    read_range: FileRanges | None = None
    reply_format: ReplyFormat = ReplyFormat.PROTOBUF


class Worker:
    """Process forked from the zygote.

    Parameters
    ----------
    pid, handle : int
        Process id, and a pidfd, which stays valid when the kernel reuses the id.
    end : socket
    arena : Arena
        Owned from now on, like `end` and `handle`.

    Attributes
    ----------
    model_key : str
        Caller and model that it works for; empty before its first request.
    own_bytes : int
        Memory after its last request, without what it shares with the zygote.
    has_begun : bool
        Whether it has sent any frame for its last request.
    niceness : int
        Level set by `priority`.
    is_usable : bool
        Whether it waits for a request; false while busy, and once it must be killed.
    """

    def __init__(self, pid: int, handle: int, end: socket.socket, arena: Arena) -> None:
        self.pid = pid
        self.model_key = ""
        self.own_bytes = 0
        self.niceness = 0
        self.has_begun = False
        self.is_usable = False
        self._rested = math.inf, math.inf
        self._handle = handle
        self._channel = FrameChannel(end, FROM_WORKER)
        self._arena = arena
        self._call = 0

    @property
    def alive(self) -> bool:
        """True until the process ends."""
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return not poll.poll(0)

    def rest(self, shared_bytes: int) -> None:
        """Stop the process until `wake`, and return the memory of its messages.

        `own_bytes` is then its memory less what all share.
        """
        self._signal(signal.SIGSTOP)
        self._arena.trim()
        self._rested = processor_seconds(self.pid), private_bytes(self.pid)
        self.own_bytes = max(0, self._rested[1] + self._arena.filled_bytes - shared_bytes)

    def wake(self) -> bool:
        """Let it run again, if it has rested: it has sent nothing, computed nothing, not grown."""
        seconds, byte_count = self._rested
        has_rested = not (
            self._channel.has_more()
            or processor_seconds(self.pid) > seconds + _REST_SECONDS
            or private_bytes(self.pid) > byte_count + _REST_BYTES
        )
        if has_rested:
            self._signal(signal.SIGCONT)
        return has_rested

    def wait_ready(self) -> tuple[str, ...]:
        """Wait until it is sandboxed; return the protections that the kernel lacks.

        Raises
        ------
        ClosedError, MalformedError
        """
        frame = self._channel.receive(_until(time.monotonic() + _READY_SECONDS))
        if frame.kind is not FrameKind.READY:
            raise MalformedError
        self.is_usable = True
        return tuple(frame.payload.decode("ascii", "replace").split())

    def ask(self, exchange: WorkerRequest[Answer], monitor: RequestMonitor) -> Answer:
        """Send a request, and return the answer.

        Raises
        ------
        ExplainError
            From the worker, from `monitor`, or from the session, before the worker is asked.
        ClosedError, MalformedError
            If it died, or broke the protocol.
        UnableError
            If it lacks a library.
        """
        with exchange.session() as handed:
            return self._answer(exchange, monitor, handed)

    def _answer(
        self,
        exchange: WorkerRequest[Answer],
        monitor: RequestMonitor,
        handed: socket.socket | None,
    ) -> Answer:
        self._call += 1
        self.is_usable = self.has_begun = False
        try:
            layout = exchange.pack(self._arena)
            self._channel.send(Frame(exchange.kind, self._call, layout), monitor.tick)
            if handed is not None:
                self._channel.send_socket(handed, monitor.tick)
            read_range, reply_format = exchange.read_range, exchange.reply_format
            serving = FrameServer(self._channel, self._call, monitor, read_range, reply_format)
            with serving as server:
                header = self._follow(server)
            # What it has answered stays as it is while it is checked.
            self._signal(signal.SIGSTOP)
            answer = exchange.unpack(self._arena, header)
            self.is_usable = True
        except ExplainError:
            self.is_usable = self.is_usable or self._cancel()
            raise
        finally:
            monitor.end()
        return answer

    def kill(self) -> None:
        """Kill the process."""
        self.is_usable = False
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Close the parent's descriptors."""
        self._channel.close()
        self._arena.close()
        os.close(self._handle)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def _follow(self, server: FrameServer) -> bytes:
        """Serve the worker's frames until it answers; return the answer's header, or raise."""
        while True:
            frame = server.receive()
            self.has_begun = True
            if frame.kind is FrameKind.ANSWERED:
                return frame.payload
            if frame.kind is FrameKind.UNABLE:
                self.is_usable = True
                raise UnableError
            if frame.kind is FrameKind.REFUSED:
                error = payloads.unpack_error(frame.payload)
                self.is_usable = True
                raise error
            try:
                server.serve(frame)
            finally:
                self.is_usable = server.has_refused

    def _cancel(self) -> bool:
        """Cancel the request; return whether the worker stopped in time and is reusable."""
        tick = _until(time.monotonic() + _GRACE_SECONDS)
        try:
            self._channel.send(Frame(FrameKind.CANCEL, self._call), tick)
            while self._channel.receive(tick).kind not in {FrameKind.ANSWERED, FrameKind.REFUSED}:
                tick()
        except (ClosedError, MalformedError):
            return False
        return True


def _until(deadline: float) -> Callable[[], None]:
    """Return a tick that raises ClosedError after a time."""

    def tick() -> None:
        if time.monotonic() > deadline:
            raise ClosedError

    return tick
