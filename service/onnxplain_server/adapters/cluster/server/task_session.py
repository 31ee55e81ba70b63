"""Session of one request in the process that has the Dask client: tasks in, sums out."""

from __future__ import annotations

import logging
import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

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
from onnxplain_server.trees.streaming.workers import SharedFile, TaskQueue, Workers

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
        The server sends packed `SourceBlocks`, and closes it.
    end : socket
        Of the worker.
    """
    with binding, end, suppress(TaskBrokenError):
        try:
            session = _TaskSession(connected(), _files(binding), end)
            while True:
                session.serve_pass()
        except ExplainError as error:
            _fail(end, error)
        except TaskBrokenError:
            raise
        except Exception:
            LOG.exception("a session of the cluster failed unexpectedly")
            message = (
                "the process that has the connection to the Dask cluster failed; its log tells"
            )
            _fail(end, ExplainError(Reason.SOURCE_UNAVAILABLE, message, "table"))


class _TaskSession:
    def __init__(self, workers: Workers, files: Sequence[SharedFile], end: socket.socket) -> None:
        self._workers = workers
        self._files = files
        self._end = end
        self._width = -1
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)

    def serve_pass(self) -> None:
        """Serve one pass, from its beginning to its end."""
        frame = frames.receive(self._end, {TaskKind.OPEN: ASKED[TaskKind.OPEN]})
        with self._workers.open(*frames.unpack_open(frame.content), self._files) as queue:
            self._width = -1
            while self._take_tasks(queue):
                self._tell_width(queue)
                for number, sums in queue.replies(_WAIT_SECONDS):
                    frames.send(self._end, TaskFrame(TaskKind.SUMS, number, sums))
        frames.send(self._end, TaskFrame(TaskKind.CLOSED))

    def _take_tasks(self, queue: TaskQueue[Range]) -> bool:
        """Submit the tasks that have come; return whether the pass goes on."""
        while self._poll.poll(0):
            frame = frames.receive(self._end, {kind: ASKED[kind] for kind in _OF_A_PASS})
            if frame.kind is TaskKind.CLOSE:
                return False
            queue.submit(frame.number, frames.unpack_task(frame.content))
        return True

    def _tell_width(self, queue: TaskQueue[Range]) -> None:
        width = queue.width()
        if width != self._width:
            self._width = width
            frames.send(self._end, TaskFrame(TaskKind.WIDTH, 0, frames.pack_width(width)))


_OF_A_PASS = (TaskKind.TASK, TaskKind.CLOSE)


def _files(binding: socket.socket) -> Sequence[SharedFile]:
    """Receive the files of the table; the server, which sends them, is trusted."""
    content = bytearray()
    while part := binding.recv(2**16):
        content += part
    return [SharedFile(*file) for file in SourceBlocks.unpack(content).files]


def _fail(end: socket.socket, error: ExplainError) -> None:
    """Tell an error, in place of all that would follow; then wait for the worker to leave."""
    frames.send(end, TaskFrame(TaskKind.FAILED, 0, frames.pack_failure(error)))
    while frames.receive(end, ASKED).kind is not TaskKind.CLOSE:
        pass
    frames.send(end, TaskFrame(TaskKind.CLOSED))
