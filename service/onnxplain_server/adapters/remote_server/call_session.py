"""Session of one request in the process that calls: frames of a computation in, answers out.

Its socket speaks of one model only, that of its binding. It ends with the lease that the server
holds: then calls under way are ended, and their counts are told.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    Buffer,
    SocketFrame,
    pack_error,
    receive,
    send,
)
from onnxplain_server.adapters.remote_server import call_frames as frames
from onnxplain_server.adapters.remote_server.call_frames import (
    ASKED,
    Binding,
    CallKind,
)
from onnxplain_server.adapters.remote_server.columns import pack_predictions, unpack_feeds
from onnxplain_server.adapters.remote_server.descriptions import pack_description
from onnxplain_server.core.counts.remote_counts import CallCounts, CountKind
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.models import RemotePredictions
from onnxplain_server.core.sources import FetchControl

LOG = logging.getLogger(__name__)

_END_SECONDS = 0.2
"""Time for calls to end before the counts are told: those under way then count as failed."""

_WINDOW_BYTES = 2**27
"""Rows of calls under way; what is more is not read before."""


class SessionControl:
    """`FetchControl` of a session, which ends with its lease."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._is_over = False

    def end(self) -> None:
        """End what is under way."""
        self._is_over = True

    def check(self, when: str) -> None:
        """Raise CANCELLED after the end, or the deadline, of which the server tells itself."""
        if self._is_over or time.monotonic() > self.deadline:
            raise ExplainError(Reason.CANCELLED, f"the request ended {when}")


class CallCounter:
    """Counter of the calls of a session; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = CallCounts()

    @property
    def counts(self) -> CallCounts:
        """Counts so far."""
        with self._lock:
            return self._counts

    def count(self, kind: CountKind, number: int = 1) -> None:
        """Add to one of the counts."""
        with self._lock:
            added = {kind.value: getattr(self._counts, kind.value) + number}
            self._counts = replace(self._counts, **added)


Opener = Callable[[bytes, FetchControl, CallCounter], RemotePredictions]
"""Opens the model of a serialised RemoteModel; raises ExplainError."""


def serve_session(open_model: Opener, lease: socket.socket, end: socket.socket) -> None:
    """Serve a session until its lease ends; closes both sockets."""
    with lease, end:
        try:
            binding = frames.receive_binding(lease)
        except BrokenError:
            return
        session = _Session(binding, end)
        reader = threading.Thread(target=session.serve, args=(open_model,), daemon=True)
        reader.start()
        with contextlib.suppress(OSError):
            lease.recv(1)  # the server closes it, or ends
        session.stop()
        reader.join(_END_SECONDS)
        with contextlib.suppress(OSError):
            lease.sendall(frames.pack_counts(session.final_counts()))


class _Session:
    """Calls of one session."""

    def __init__(self, binding: Binding, end: socket.socket) -> None:
        self.counter = CallCounter()
        self._binding = binding
        self._end = end
        self._control = SessionControl(binding.deadline)
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: dict[int, int] = {}
        self._is_stopped = False

    def serve(self, open_model: Opener) -> None:
        """Open the model, then answer frames until an end of the session."""
        try:
            model = open_model(self._binding.model, self._control, self.counter)
        except Exception as error:  # noqa: BLE001 - all of them are told
            self.counter.count(CountKind.FAILURES)
            self._send_failure(0, error)
            return
        limits = frames.pack_limits(model.call_count, model.row_limit)
        self._send(CallKind.OPENED, 0, [limits])
        with (
            contextlib.suppress(BrokenError),
            ThreadPoolExecutor(model.call_count, "remote-session") as pool,
        ):
            try:
                while True:
                    frame = receive(self._end, ASKED)
                    self._begin(frame, model.call_count)
                    pool.submit(self._answer, model, frame)
            finally:
                self.stop()

    def stop(self) -> None:
        """End calls under way, and the socket; repeatable."""
        self._control.end()
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def final_counts(self) -> CallCounts:
        """Return the counts, in which calls that are still under way have failed."""
        with self._changed:
            return self.counter.counts + CallCounts(failure_count=len(self._waiting))

    def _begin(self, frame: SocketFrame[CallKind], call_count: int) -> None:
        """Count a call as under way; wait while rows of others fill the window."""
        with self._changed:
            if frame.number in self._waiting or len(self._waiting) >= call_count:
                raise BrokenError
            self._waiting[frame.number] = len(frame.content)
            while sum(self._waiting.values()) > _WINDOW_BYTES and len(self._waiting) > 1:
                if self._is_stopped:
                    raise BrokenError
                self._changed.wait()

    def _answer(self, model: RemotePredictions, frame: SocketFrame[CallKind]) -> None:
        try:
            kind, content = self._computed(model, frame)
        except BrokenError:
            self.stop()
            return
        except Exception as error:  # noqa: BLE001 - all of them are told
            with self._changed:
                self.counter.count(CountKind.FAILURES)
                self._done(frame)
            self._send_failure(frame.number, error)
            return
        self._done(frame)
        self._send(kind, frame.number, content)

    def _computed(
        self, model: RemotePredictions, frame: SocketFrame[CallKind]
    ) -> tuple[CallKind, list[Buffer]]:
        if frame.kind is CallKind.DESCRIBE:
            return CallKind.DESCRIBED, [pack_description(model.describe())]
        feeds = unpack_feeds(frame.content, model.row_limit)
        self.counter.count(CountKind.ROWS, len(next(iter(feeds.values()))))
        return CallKind.PREDICTED, pack_predictions(model.predict(feeds))

    def _done(self, frame: SocketFrame[CallKind]) -> None:
        with self._changed:
            self._waiting.pop(frame.number, None)
            self._changed.notify_all()

    def _send(self, kind: CallKind, call: int, content: list[Buffer]) -> None:
        with self._sending, contextlib.suppress(BrokenError):
            send(self._end, kind, call, *content)

    def _send_failure(self, call: int, error: Exception) -> None:
        self._send(CallKind.FAILED, call, [pack_error(_told(error))])


def _told(error: Exception) -> ExplainError:
    """Return the error that a computation is told."""
    if isinstance(error, ExplainError) and error.reason in frames.REASONS:
        return error
    if isinstance(error, MemoryError):
        message = "the rows or predictions of a call need more memory than there is for calls"
        return ExplainError(Reason.OUT_OF_MEMORY, message)
    LOG.error("a call of a remote model failed unexpectedly", exc_info=error)
    return ExplainError(Reason.INTERNAL, "the process that calls remote models failed")
