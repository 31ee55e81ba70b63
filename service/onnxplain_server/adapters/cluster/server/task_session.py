"""Session of one request in the process that has the Dask client: tasks in, sums out."""

from __future__ import annotations

import logging
import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from onnxplain_server.adapters.cluster.dask_words import without_cause
from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server.task_frames import (
    ASKED,
    TaskBrokenError,
    TaskFrame,
    TaskKind,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import SourceBlocks
from onnxplain_server.trees.streaming.blocks import Range
from onnxplain_server.trees.streaming.workers import (
    TASKS_AHEAD,
    SharedFile,
    TaskQueue,
    Workers,
)

LOG = logging.getLogger(__name__)

_WAIT_SECONDS = 0.02


def serve_session(
    connected: Callable[[], Workers], binding: socket.socket, end: socket.socket
) -> None:
    """Serve the passes of one request, until its worker closes its end.

    Parameters
    ----------
    connected : callable () -> Workers
        Connects to the cluster; ExplainError.
    binding : socket
        The server sends packed `SourceBlocks`, and hears of failures of the cluster.
    end : socket
        Of the worker.
    """
    with binding, end, suppress(TaskBrokenError):
        try:
            files = _files(binding)
            session = _TaskSession(connected(), files, end)
            while True:
                session.serve_pass()
        except ExplainError as error:
            _fail(binding, end, error)
        except TaskBrokenError:
            raise
        except Exception:
            LOG.exception("a session of the cluster failed unexpectedly")
            message = "the server's process that has the connection to the Dask cluster failed"
            _fail(binding, end, ExplainError(Reason.UNAVAILABLE, f"{message}; its log tells why"))


class _TaskSession:
    def __init__(self, workers: Workers, files: Sequence[SharedFile], end: socket.socket) -> None:
        self._workers = workers
        self._files = files
        self._end = end
        self._width = -1
        self._widest = 0
        self._waiting: set[int] = set()
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    def serve_pass(self) -> None:
        """Serve one pass, from its beginning to its end."""
        frame = frames.receive(self._end, {TaskKind.OPEN: ASKED[TaskKind.OPEN]})
        with self._workers.open(*frames.unpack_open(frame.content), self._files) as queue:
            self._width, self._widest, self._waiting = -1, 0, set()
            while self._take_tasks(queue):
                self._tell_width(queue)
                for number, sums in queue.replies(_WAIT_SECONDS):
                    self._waiting.discard(number)
                    frames.send(self._end, TaskFrame(TaskKind.SUMS, number, sums))
        frames.send(self._end, TaskFrame(TaskKind.CLOSED))

    def _take_tasks(self, queue: TaskQueue[Range]) -> bool:
        """Submit the tasks that have come; return whether the pass goes on.

        A worker that sends a number twice, or more tasks than it may, is cut off: each holds memory
        here and in the scheduler.
        """
        while self._poll.poll(0):
            frame = frames.receive(self._end, {kind: ASKED[kind] for kind in _OF_A_PASS})
            if frame.kind is TaskKind.CLOSE:
                return False
            allowed = max(1, TASKS_AHEAD * self._widest)
            if frame.number in self._waiting or len(self._waiting) >= allowed:
                raise TaskBrokenError
            self._waiting.add(frame.number)
            queue.submit(frame.number, frames.unpack_task(frame.content))
        return True

    def _tell_width(self, queue: TaskQueue[Range]) -> None:
        width = queue.width()
        if width != self._width:
            self._width, self._widest = width, max(width, self._widest)
            frames.send(self._end, TaskFrame(TaskKind.WIDTH, 0, frames.pack_width(width)))


_OF_A_PASS = (TaskKind.TASK, TaskKind.CLOSE)


def _files(binding: socket.socket) -> Sequence[SharedFile]:
    """Receive the files of the table; the server, which sends them, is trusted."""
    content = bytearray()
    while part := binding.recv(2**16):
        content += part
    return [SharedFile(*file) for file in SourceBlocks.unpack(content).files]


def _fail(binding: socket.socket, end: socket.socket, error: ExplainError) -> None:
    """Tell an error, in place of all that would follow; then wait for the worker to leave.

    One of the cluster goes to the server, without Dask's words, which have addresses.
    """
    if not frames.is_of_worker(error):
        LOG.warning("the Dask cluster failed: %s", error.message)
        reason = error.reason if error.reason is Reason.WORKER_DIED else Reason.UNAVAILABLE
        told = ExplainError(reason, f"the server's Dask cluster: {without_cause(error.message)}")
        frames.send(binding, TaskFrame(TaskKind.FAILED, 0, frames.pack_failure(told)))
        error = frames.WITHHELD
    frames.send(end, TaskFrame(TaskKind.FAILED, 0, frames.pack_failure(error)))
    while frames.receive(end, ASKED).kind is not TaskKind.CLOSE:
        pass
    frames.send(end, TaskFrame(TaskKind.CLOSED))
