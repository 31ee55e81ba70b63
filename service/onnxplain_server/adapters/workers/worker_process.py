"""Worker process, parent side: sends requests, serves its cache, monitors and kills it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

from onnxplain_server.adapters.workers.ipc import arena_request, payloads
from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.adapters.workers.ipc.channel import (
    PAYLOAD_BYTE_LIMIT,
    ClosedError,
    Frame,
    FrameChannel,
    FrameKind,
    MalformedError,
)
from onnxplain_server.adapters.workers.process_status import private_bytes
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, ComputationHost
from onnxplain_server.telemetry.spans import Attributes, Span, current

_READY_SECONDS = 60.0
"""Time limit for the start; milliseconds suffice on an idle machine."""

_GRACE_SECONDS = 0.25
"""Grace period after a cancellation, before the kill."""


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
        self._handle = handle
        self._channel = FrameChannel(end)
        self._arena = arena
        self._call = 0

    @property
    def alive(self) -> bool:
        """True until the process ends."""
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return not poll.poll(0)

    def measure(self, shared_bytes: int) -> None:
        """Update `own_bytes`: all memory less what all workers share."""
        total_bytes = private_bytes(self.pid) + self._arena.filled_bytes
        self.own_bytes = max(0, total_bytes - shared_bytes)

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

    def ask(self, kind: FrameKind, request: bytes, blobs: Blobs, monitor: RequestMonitor) -> bytes:
        """Send a request, and return the serialised answer.

        Raises
        ------
        ExplainError
            From the worker, or from `monitor`.
        ClosedError, MalformedError
            If it died, or broke the protocol.
        """
        self._call += 1
        self.is_usable = self.has_begun = False
        try:
            layout = arena_request.pack(self._arena, request, blobs)
            self._channel.send(Frame(kind, self._call, layout), monitor.tick)
            with ExitStack() as flight:
                answer = self._follow(monitor, flight)
        except ExplainError:
            self.is_usable = self.is_usable or self._cancel()
            raise
        finally:
            monitor.end()
        return answer

    def kill(self) -> None:
        """Kill the process."""
        self.is_usable = False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self) -> None:
        """Close the parent's descriptors."""
        self._channel.close()
        self._arena.close()
        os.close(self._handle)

    def _follow(self, monitor: RequestMonitor, flight: ExitStack) -> bytes:
        """Serve the worker's frames until it answers; raise its refusal."""
        while True:
            frame = self._channel.receive(monitor.tick)
            self.has_begun = True
            if frame.call != self._call:
                raise MalformedError
            if frame.kind is FrameKind.ANSWERED:
                return self._take_answer(frame)
            if frame.kind is FrameKind.REFUSED:
                error = payloads.unpack_error(frame.payload)
                self.is_usable = True
                raise error
            self._serve(frame, monitor, flight)

    def _serve(self, frame: Frame, monitor: RequestMonitor, flight: ExitStack) -> None:
        match frame.kind:
            case FrameKind.PROGRESS:
                monitor.advance(*payloads.unpack_progress(frame.payload))
            case FrameKind.LOADING | FrameKind.LOADED:
                monitor.load(frame.kind is FrameKind.LOADING)
            case FrameKind.CACHE_GET:
                self._cache_get(monitor, payloads.unpack_names(frame.payload))
            case FrameKind.CACHE_PUT:
                monitor.host.cache_put(payloads.unpack_entries(frame.payload))
            case FrameKind.FLIGHT_JOIN:
                self._join_flight(monitor, flight, payloads.unpack_names(frame.payload))
            case FrameKind.FLIGHT_LEAVE:
                flight.close()
            case FrameKind.SPANS:
                now = time.monotonic()
                current().add(payloads.unpack_spans(frame.payload, monitor.start, now))
            case _:
                raise MalformedError

    def _cache_get(self, monitor: RequestMonitor, names: list[str]) -> None:
        values = payloads.pack_values(monitor.host.cache_get(names))
        if len(values) > PAYLOAD_BYTE_LIMIT:
            values = payloads.pack_values([None] * len(names))
        self._channel.send(Frame(FrameKind.CACHE_VALUES, self._call, values), monitor.tick)

    def _join_flight(self, monitor: RequestMonitor, flight: ExitStack, names: list[str]) -> None:
        """Join a flight for the worker, after leaving the previous one."""
        flight.close()
        is_leader = len(names) == 1 and flight.enter_context(monitor.host.single_flight(names[0]))
        self._channel.send(Frame(FrameKind.FLIGHT_ROLE, self._call, b"1" * is_leader), monitor.tick)

    def _take_answer(self, frame: Frame) -> bytes:
        try:
            answer = self._arena.get(payloads.unpack_length(frame.payload))
        except ValueError:
            raise MalformedError from None
        self.is_usable = True
        return answer

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


class RequestMonitor:
    """Monitor of one request: cancellation, deadline, load time limit, CPU priority.

    Parameters
    ----------
    host : ComputationHost
    load_seconds : float
        Time limit for loading the model.
    update : callable () -> None
        Called at short intervals.

    Attributes
    ----------
    start : float
        Start of the request, on the monotonic clock.
    """

    def __init__(
        self, host: ComputationHost, load_seconds: float, update: Callable[[], None]
    ) -> None:
        self.host = host
        self.start = time.monotonic()
        self._update = update
        self._load_seconds = load_seconds
        self._load_start: float | None = None
        self._progress = (0.0, 0.0)

    def advance(self, done: float, planned: float) -> None:
        """Forward progress to the host."""
        self._progress = (done, planned)
        self.host.advance(done, planned)

    def load(self, begins: bool) -> None:
        """Record that loading begins, or has succeeded."""
        if begins:
            self._load_start = time.monotonic()
        else:
            self._end_load({})

    def end(self) -> None:
        """Record the end of the request; a load in progress then counts as failed."""
        self._end_load({"error": "NOT_LOADED"})

    def _end_load(self, attributes: Attributes) -> None:
        if self._load_start is not None:
            current().add([Span("load", self._load_start, time.monotonic(), attributes)])
        self._load_start = None

    def tick(self) -> None:
        """Raise ExplainError after a cancellation, or beyond the deadline or load time limit."""
        self.host.advance(*self._progress)
        self._update()
        if self._load_start and time.monotonic() > self._load_start + self._load_seconds:
            raise ExplainError(
                Reason.LOADING_TOO_LONG,
                f"loading the model took longer than {self._load_seconds:g} s, the most that this "
                "server allows",
                "model",
            )


def _until(deadline: float) -> Callable[[], None]:
    """Return a tick that raises ClosedError after a time."""

    def tick() -> None:
        if time.monotonic() > deadline:
            raise ClosedError

    return tick
