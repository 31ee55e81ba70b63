"""Workers of a cluster as a confined worker of a server sees them: by the socket of its request."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Generic, TypeVar

from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server.task_frames import (
    ANSWERED,
    WITHHELD,
    TaskKind,
)
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    SocketFrame,
    receive,
    send,
    unpack_error,
)
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.systems.sockets import ReadableSocket
from onnxplain_server.trees.streaming.workers import Range, SharedFile

_Task = TypeVar("_Task")


class SocketWorkers:
    """Implements `Workers` and `PredictionWorkers`, one queue at a time.

    Its table is the one that the socket is bound to.

    Parameters
    ----------
    end : socket
        Its owner closes it.
    """

    most_calls = 32
    """Each has a thread, whose stack counts as memory of the worker."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    @contextmanager
    def open(
        self, job: bytes, work: bytes, _files: Sequence[SharedFile]
    ) -> Iterator[_SocketQueue[Range]]:
        """Open a queue; see `Workers.open`."""
        opening = SocketFrame(TaskKind.OPEN, 0, frames.pack_open(job, work))
        with closing(_SocketQueue(self._end, opening, frames.pack_task)) as queue:
            yield queue

    @contextmanager
    def open_predictions(self, model: bytes, job: bytes) -> Iterator[_SocketQueue[bytes]]:
        """Open a queue; see `PredictionWorkers.open_predictions`."""
        opening = SocketFrame(TaskKind.OPEN_PREDICTIONS, 0, frames.pack_open(model, job))
        with closing(_SocketQueue(self._end, opening, frames.pack_rows)) as queue:
            yield queue


class _SocketQueue(Generic[_Task]):
    """Implements `TaskQueue`; tasks are packed by `pack`."""

    def __init__(
        self, end: socket.socket, opening: SocketFrame[TaskKind], pack: Callable[[_Task], bytes]
    ) -> None:
        self._end = end
        self._pack = pack
        self._width = 0
        self._lock = threading.Lock()
        self._readable = ReadableSocket(end)
        self._send(opening)

    def width(self) -> int:
        return self._width

    def submit(self, number: int, task: _Task) -> None:
        self._send(SocketFrame(TaskKind.TASK, number, self._pack(task)))

    def replies(self, seconds: float) -> Sequence[tuple[int, bytes]]:
        end = time.monotonic() + seconds
        found: list[tuple[int, bytes]] = []
        while not found and self._is_readable(end - time.monotonic()):
            found += self._received()
        while self._is_readable(0):
            found += self._received()
        return found

    def close(self) -> None:
        """Cancel what is under way, and drop its replies."""
        with suppress(BrokenError):
            send(self._end, TaskKind.CLOSE)
            while receive(self._end, ANSWERED).kind is not TaskKind.CLOSED:
                pass

    def _is_readable(self, seconds: float) -> bool:
        return self._readable.wait(seconds)

    def _received(self) -> list[tuple[int, bytes]]:
        try:
            frame = receive(self._end, ANSWERED)
            if frame.kind is TaskKind.RESULT:
                return [(frame.number, bytes(frame.content))]
            if frame.kind is TaskKind.WIDTH:
                self._width = frames.unpack_width(frame.content)
                return []
            error = unpack_error(frame.content, frames.OF_WORKERS)
        except BrokenError:
            raise _withheld() from None
        raise error

    def _send(self, frame: SocketFrame[TaskKind]) -> None:
        try:
            with self._lock:
                send(self._end, frame.kind, frame.number, frame.content)
        except BrokenError:
            raise _withheld() from None


def _withheld() -> ExplainError:
    """Return the error where the process ended, which the server tells."""
    return ExplainError(WITHHELD.reason, WITHHELD.message, WITHHELD.field)
