"""A worker as its parent sees it: it is asked, watched, and killed where it does not answer."""

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
"""Milliseconds are enough, on a machine that has nothing else to do."""

_LAST_SECONDS = 0.25
"""Time to end at the next step, once told to; then it is killed."""


class Worker:
    """A child of the zygote.

    Parameters
    ----------
    pid, handle : int
        Its number, and the descriptor that stays its own when the number is given away.
    end : socket
    arena : Arena
        Taken over, like `end` and `handle`.

    Attributes
    ----------
    model_key : str
        Caller and model that it has worked for; empty before its first request.
    own_bytes : int
        Memory that it held, beside what it shares with the zygote, after its last request.
    has_begun : bool
        Whether it has said anything about its last request.
    niceness : int
        How far it steps back for others that want the processor.
    is_usable : bool
        Whether it waits for a request; false while it works, and once it must be killed.
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
        """Whether the process has not ended."""
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return not poll.poll(0)

    def measure(self, common_bytes: int) -> None:
        """Note what it holds, beside so many bytes that all workers share."""
        held = private_bytes(self.pid) + self._arena.filled_bytes
        self.own_bytes = max(0, held - common_bytes)

    def wait_ready(self) -> tuple[str, ...]:
        """Wait until it is confined; what the kernel has not.

        Raises
        ------
        ClosedError, MalformedError
        """
        frame = self._channel.receive(_until(time.monotonic() + _READY_SECONDS))
        if frame.kind is not FrameKind.READY:
            raise MalformedError
        self.is_usable = True
        return tuple(frame.payload.decode("ascii", "replace").split())

    def ask(self, kind: FrameKind, request: bytes, blobs: Blobs, watch: RequestMonitor) -> bytes:
        """Have a request answered.

        Raises
        ------
        ExplainError
            Its refusal, or why `watch` ended it.
        ClosedError, MalformedError
            Where it died, or does not keep to the format.
        """
        self._call += 1
        self.is_usable = self.has_begun = False
        try:
            label = arena_request.pack(self._arena, request, blobs)
            self._channel.send(Frame(kind, self._call, label), watch.tick)
            with ExitStack() as works:
                answer = self._follow(watch, works)
        except ExplainError:
            self.is_usable = self.is_usable or self._stop()
            raise
        finally:
            watch.end()
        return answer

    def kill(self) -> None:
        """End the process now."""
        self.is_usable = False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self) -> None:
        """Give back what the parent holds of it."""
        self._channel.close()
        self._arena.close()
        os.close(self._handle)

    def _follow(self, watch: RequestMonitor, works: ExitStack) -> bytes:
        """Serve the worker until it has answered, or raise its refusal."""
        while True:
            frame = self._channel.receive(watch.tick)
            self.has_begun = True
            if frame.call != self._call:
                raise MalformedError
            if frame.kind is FrameKind.ANSWERED:
                return self._take_answer(frame)
            if frame.kind is FrameKind.REFUSED:
                error = payloads.unpack_error(frame.payload)
                self.is_usable = True
                raise error
            self._serve(frame, watch, works)

    def _serve(self, frame: Frame, watch: RequestMonitor, works: ExitStack) -> None:
        match frame.kind:
            case FrameKind.PROGRESS:
                watch.advance(*payloads.unpack_progress(frame.payload))
            case FrameKind.LOADING | FrameKind.LOADED:
                watch.load(frame.kind is FrameKind.LOADING)
            case FrameKind.RECALL:
                self._recall(watch, payloads.unpack_names(frame.payload))
            case FrameKind.REMEMBER:
                watch.host.cache_put(payloads.unpack_entries(frame.payload))
            case FrameKind.ENTER:
                self._enter(watch, works, payloads.unpack_names(frame.payload))
            case FrameKind.LEAVE:
                works.close()
            case FrameKind.SPANS:
                now = time.monotonic()
                current().add(payloads.unpack_spans(frame.payload, watch.start, now))
            case _:
                raise MalformedError

    def _recall(self, watch: RequestMonitor, names: list[str]) -> None:
        found = payloads.pack_values(watch.host.cache_get(names))
        if len(found) > PAYLOAD_BYTE_LIMIT:
            found = payloads.pack_values([None] * len(names))
        self._channel.send(Frame(FrameKind.FOUND, self._call, found), watch.tick)

    def _enter(self, watch: RequestMonitor, works: ExitStack, names: list[str]) -> None:
        """Begin a piece of work, one at a time."""
        works.close()
        is_first = len(names) == 1 and works.enter_context(watch.host.single_flight(names[0]))
        self._channel.send(Frame(FrameKind.ENTERED, self._call, b"1" * is_first), watch.tick)

    def _take_answer(self, frame: Frame) -> bytes:
        try:
            answer = self._arena.get(payloads.unpack_length(frame.payload))
        except ValueError:
            raise MalformedError from None
        self.is_usable = True
        return answer

    def _stop(self) -> bool:
        """Tell it to stop; whether it did so in time, and can be asked again."""
        tick = _until(time.monotonic() + _LAST_SECONDS)
        try:
            self._channel.send(Frame(FrameKind.CANCEL, self._call), tick)
            while self._channel.receive(tick).kind not in {FrameKind.ANSWERED, FrameKind.REFUSED}:
                tick()
        except (ClosedError, MalformedError):
            return False
        return True


class RequestMonitor:
    """Looks after one request: its deadline, its caller, the time that loading takes.

    Parameters
    ----------
    host : ComputationHost
    load_seconds : float
        The longest time for loading.
    look : callable () -> None
        Called again and again.

    Attributes
    ----------
    start : float
        When the request was handed over, of the monotonic clock.
    """

    def __init__(
        self, host: ComputationHost, load_seconds: float, look: Callable[[], None]
    ) -> None:
        self.host = host
        self.start = time.monotonic()
        self._look = look
        self._load_seconds = load_seconds
        self._load_start: float | None = None
        self._progress = (0.0, 0.0)

    def advance(self, done: float, planned: float) -> None:
        """Pass on its progress."""
        self._progress = (done, planned)
        self.host.advance(done, planned)

    def load(self, begins: bool) -> None:
        """Take note that loading begins, or has ended well."""
        if begins:
            self._load_start = time.monotonic()
        else:
            self._end_load({})

    def end(self) -> None:
        """Take note that nothing more comes; a model that was being loaded was not."""
        self._end_load({"error": "NOT_LOADED"})

    def _end_load(self, attributes: Attributes) -> None:
        if self._load_start is not None:
            current().add([Span("load", self._load_start, time.monotonic(), attributes)])
        self._load_start = None

    def tick(self) -> None:
        """Raise where the answer is no longer wanted, or loading takes too long."""
        self.host.advance(*self._progress)
        self._look()
        if self._load_start and time.monotonic() > self._load_start + self._load_seconds:
            raise ExplainError(
                Reason.LOADING_TOO_LONG,
                f"loading the model took longer than {self._load_seconds:g} s, the most that this "
                "server allows",
                "model",
            )


def _until(end: float) -> Callable[[], None]:
    """A tick that gives the worker up at a time."""

    def tick() -> None:
        if time.monotonic() > end:
            raise ClosedError

    return tick
