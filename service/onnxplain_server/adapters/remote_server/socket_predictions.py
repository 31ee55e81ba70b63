"""Predictions of a computation: it asks the process that calls, over the socket of its request.

Several calls are under way; one thread receives the answers. What comes may be anyone's.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Mapping, Sequence

from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    Buffer,
    SocketFrame,
    receive,
    send,
    unpack_error,
)
from onnxplain_server.adapters.remote_server import call_frames as frames
from onnxplain_server.adapters.remote_server.call_frames import (
    ANSWERED,
    CallKind,
)
from onnxplain_server.adapters.remote_server.columns import pack_feeds, unpack_predictions
from onnxplain_server.adapters.remote_server.descriptions import unpack_description
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.models import RemoteDescription
from onnxplain_server.core.sources import FetchControl
from onnxplain_server.core.systems.sockets import ReadableSocket

_TICK_SECONDS = 0.05
_WAITING = "while the remote model was asked"
_OPENING = 0
"""Number of the frame that tells whether the model is open."""


class SocketPredictions:
    """`RemotePredictions` of the model that a socket is bound to.

    Parameters
    ----------
    end : socket
        Owned from now on.
    control : FetchControl

    Raises
    ------
    ExplainError
        Where the model cannot be opened.
    """

    def __init__(self, end: socket.socket, control: FetchControl) -> None:
        self._end = end
        self._control = control
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._answers: dict[int, SocketFrame[CallKind] | None] = {_OPENING: None}
        self._numbers = itertools.count(1)
        self._is_broken = False
        threading.Thread(target=self._receive, name="remote-answers", daemon=True).start()
        try:
            opened = self._wait(_OPENING, CallKind.OPENED)
            self._call_count, self._row_limit = frames.unpack_limits(opened)
        except BrokenError:
            self.close()
            raise _broken() from None
        except BaseException:
            self.close()
            raise
        self._slots = threading.Semaphore(self._call_count)

    @property
    def call_count(self) -> int:
        """Most calls at a time that the operator allows."""
        return self._call_count

    @property
    def row_limit(self) -> int:
        """Most rows of a call."""
        return self._row_limit

    def describe(self) -> RemoteDescription:
        """Ask the server what the model takes and gives."""
        content = self._ask(CallKind.DESCRIBE, [], CallKind.DESCRIBED)
        try:
            return unpack_description(content)
        except BrokenError:
            raise self._after_garbage() from None

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows in one call; see `RemotePredictions.predict`."""
        row_count = len(next(iter(feeds.values())))
        content = self._ask(CallKind.PREDICT, pack_feeds(feeds), CallKind.PREDICTED)
        try:
            return unpack_predictions(content, row_count)
        except BrokenError:
            raise self._after_garbage() from None

    def close(self) -> None:
        """End the session; calls under way fail."""
        with self._changed:
            self._is_broken = True
            self._changed.notify_all()

    def _ask(self, kind: CallKind, content: Sequence[Buffer], expected: CallKind) -> Buffer:
        size = sum(map(len, content))
        if size > frames.CONTENT_LIMIT:
            raise ExplainError(
                Reason.OUT_OF_MEMORY,
                f"the rows of a call have {size:,} bytes, of at most {frames.CONTENT_LIMIT:,}",
                "table",
            )
        self._enter()
        try:
            number = next(self._numbers)
            with self._changed:
                self._answers[number] = None
            with self._sending:
                send(self._end, kind, number, *content)
            return self._wait(number, expected)
        except BrokenError:
            self._control.check(_WAITING)
            raise _broken() from None
        finally:
            self._slots.release()

    def _enter(self) -> None:
        while not self._slots.acquire(timeout=_TICK_SECONDS):
            self._control.check(_WAITING)

    def _wait(self, number: int, expected: CallKind) -> Buffer:
        """Wait for the answer to a call; raise what it tells, or BrokenError."""
        with self._changed:
            try:
                while (frame := self._answers[number]) is None:
                    if self._is_broken:
                        raise BrokenError
                    self._control.check(_WAITING)
                    self._changed.wait(_TICK_SECONDS)
            finally:
                # A late answer to a call that was given up is dropped.
                del self._answers[number]
        if frame.kind is CallKind.FAILED:
            raise _failure(unpack_error(frame.content, frames.REASONS))
        if frame.kind is not expected:
            raise BrokenError
        return frame.content

    def _receive(self) -> None:
        """Receive answers until the end; closes the socket."""
        readable = ReadableSocket(self._end)
        with self._end, contextlib.suppress(BrokenError, OSError):
            while not self._is_broken:
                # Confined workers may not shut a socket down, which would end a read.
                if not readable.wait(_TICK_SECONDS):
                    continue
                frame = receive(self._end, ANSWERED)
                with self._changed:
                    if self._answers.get(frame.number, frame) is None:
                        self._answers[frame.number] = frame
                        self._changed.notify_all()
        with self._changed:
            self._is_broken = True
            self._changed.notify_all()

    def _after_garbage(self) -> ExplainError:
        self.close()
        return _broken()


def _failure(error: ExplainError) -> Exception:
    """Return what a computation raises; a fault of the process is a fault of this server."""
    return RuntimeError(error.message) if error.reason is Reason.INTERNAL else error


def _broken() -> ExplainError:
    return ExplainError(
        Reason.REMOTE_MODEL_UNAVAILABLE,
        "the process that calls remote models has ended; try again",
        "model.remote",
    )
