"""Session of one request in the process that has the Dask client: tasks in, results out."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, Protocol

from onnxplain_server.adapters.cluster.dask_words import without_cause
from onnxplain_server.adapters.cluster.server import task_frames as frames
from onnxplain_server.adapters.cluster.server.task_frames import (
    TaskKind,
)
from onnxplain_server.adapters.cluster.server.task_reader import TaskReader, TaskRules
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    SocketFrame,
    pack_error,
    receive,
    send,
)
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import CALLS_AHEAD
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import SourceBlocks
from onnxplain_server.trees.streaming.workers import (
    TASKS_AHEAD,
    Range,
    SharedFile,
    TaskQueue,
    Workers,
)

LOG = logging.getLogger(__name__)

_WAIT_SECONDS = 0.02
_RULES = {
    TaskKind.OPEN: TaskRules(frames.IN_PASS, TASKS_AHEAD, frames.unpack_task),
    TaskKind.OPEN_PREDICTIONS: TaskRules(frames.IN_PREDICTIONS, CALLS_AHEAD, bytes),
}


class _Workers(Workers, Protocol):
    """Workers of passes, and of predictions, for callers of a server by their digests."""

    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile], caller: str = ""
    ) -> AbstractContextManager[TaskQueue[Range]]: ...

    def open_predictions(
        self, model: bytes, job: bytes, caller: str
    ) -> AbstractContextManager[TaskQueue[bytes]]: ...


def serve_session(
    connected: Callable[[], _Workers], binding: socket.socket, end: socket.socket
) -> None:
    """Serve the queues of one request, until its worker closes its end, or one fails.

    Parameters
    ----------
    connected : callable () -> workers
        Connects to the cluster; ExplainError.
    binding : socket
        The server sends what `frames.pack_binding` encodes, and hears of failures of the cluster.
        Without files, the session is for predictions.
    end : socket
        Of the worker.
    """
    with binding, end, suppress(BrokenError):
        session = _TaskSession(connected, *_bound(binding), binding, end)
        while session.serve_queue():
            pass


class _TaskSession:
    def __init__(
        self,
        connected: Callable[[], _Workers],
        caller: str,
        files: Sequence[SharedFile],
        binding: socket.socket,
        end: socket.socket,
    ) -> None:
        self._connected = connected
        self._caller = caller
        self._files = files
        self._accepted = frames.TO_PASS if files else frames.TO_PREDICT
        self._binding = binding
        self._end = end

    def serve_queue(self) -> bool:
        """Serve one queue, from its opening to its end; return whether another may follow."""
        opening = receive(self._end, self._accepted)
        rules = _RULES[opening.kind]
        with ExitStack() as stack:
            reader: TaskReader | None = None
            try:
                queue = stack.enter_context(self._opened(opening))
                reader = stack.enter_context(TaskReader(self._end, queue, rules))
                self._answer(queue, reader)
                failure = None
            except ExplainError as error:
                failure = error
            except BrokenError:
                raise
            except Exception:
                LOG.exception("a session of the cluster failed unexpectedly")
                message = "the server's process that has the connection to the Dask cluster failed"
                failure = ExplainError(Reason.UNAVAILABLE, f"{message}; its log tells why")
            if failure:
                _tell(self._binding, self._end, failure)
                if reader is None:
                    self._drop(rules)
                else:
                    reader.wait()
        send(self._end, TaskKind.CLOSED)
        return failure is None

    def _opened(self, opening: SocketFrame[TaskKind]) -> AbstractContextManager[TaskQueue[Any]]:
        first, second = frames.unpack_open(opening.content)
        workers = self._connected()
        if opening.kind is TaskKind.OPEN:
            return workers.open(first, second, self._files, self._caller)
        return workers.open_predictions(first, second, self._caller)

    def _answer(self, queue: TaskQueue[Any], reader: TaskReader) -> None:
        """Send results, and the width of the cluster, until the worker closes the queue."""
        told = -1
        while reader.is_reading():
            if (width := queue.width()) != told:
                reader.widen(width)
                send(self._end, TaskKind.WIDTH, 0, frames.pack_width(width))
                told = width
            for number, result in queue.replies(_WAIT_SECONDS):
                reader.end(number)
                send(self._end, TaskKind.RESULT, number, result)

    def _drop(self, rules: TaskRules) -> None:
        """Drop the tasks of a queue that was not opened."""
        while receive(self._end, rules.accepted).kind is not TaskKind.CLOSE:
            pass


def _bound(binding: socket.socket) -> tuple[str, Sequence[SharedFile]]:
    """Receive the caller and the files of the table; the server, which sends them, is trusted."""
    content = bytearray()
    while part := binding.recv(2**16):
        content += part
    caller, blocks = frames.unpack_binding(content)
    return caller, [SharedFile(*file) for file in SourceBlocks.unpack(blocks).files]


def _tell(binding: socket.socket, end: socket.socket, error: ExplainError) -> None:
    """Tell an error, in place of all that would follow.

    One of the cluster goes to the server, without Dask's words, which have addresses.
    """
    if not frames.is_of_worker(error):
        LOG.warning("the Dask cluster failed: %s", error.message)
        reason = error.reason if error.reason is Reason.WORKER_DIED else Reason.UNAVAILABLE
        told = ExplainError(reason, f"the server's Dask cluster: {without_cause(error.message)}")
        send(binding, TaskKind.FAILED, 0, pack_error(told))
        error = frames.WITHHELD
    send(end, TaskKind.FAILED, 0, pack_error(error))
