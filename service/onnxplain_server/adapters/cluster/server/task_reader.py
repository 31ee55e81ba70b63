"""Reader of the tasks of one queue, on a thread of its own: so a worker that sends never waits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from onnxplain_server.adapters.cluster.server.task_frames import (
    ROWS_LIMIT,
    TaskKind,
)
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    SocketFrame,
    receive,
)
from onnxplain_server.trees.streaming.workers import TaskQueue


@dataclass(frozen=True, slots=True)
class TaskRules:
    """Limits of the tasks that a worker may send once a queue is open.

    Attributes
    ----------
    accepted : mapping of TaskKind to int
        Kinds of frames, and the most bytes of each.
    tasks_ahead : int
        Tasks under way for each that the cluster can run at the same time.
    unpack : callable (content) -> task
        Raises BrokenError.
    """

    accepted: Mapping[TaskKind, int]
    tasks_ahead: int
    unpack: Callable[[bytes | bytearray], Any]


class TaskReader:
    """Submits the tasks of a worker to a queue, as a context that ends with the last frame.

    A worker that sends a number twice, or more than it may, is cut off: each task holds memory
    here and in the scheduler.

    Parameters
    ----------
    end : socket
        Of the worker.
    queue : TaskQueue
    rules : TaskRules
    """

    def __init__(self, end: socket.socket, queue: TaskQueue[Any], rules: TaskRules) -> None:
        self._end = end
        self._queue = queue
        self._rules = rules
        self._lock = threading.Lock()
        self._waiting: dict[int, int] = {}
        self._widest = 0
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, name="tasks", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):
                self._end.shutdown(socket.SHUT_RD)
        self._thread.join()

    def is_reading(self) -> bool:
        """Return whether the worker goes on.

        Raises
        ------
        BrokenError
            Once it broke the protocol, or went.
        ExplainError
            That of the submission of a task.
        """
        # Asked first: the thread may fail, and end, between the two.
        is_alive = self._thread.is_alive()
        if self._error is not None:
            raise self._error
        return is_alive

    def wait(self) -> None:
        """Wait until the worker closes the queue, whose tasks are dropped."""
        self._thread.join()

    def widen(self, width: int) -> None:
        """Take so many tasks at the same time, which the worker is told next."""
        self._widest = max(width, self._widest)

    def end(self, number: int) -> None:
        """Forget a task that has ended."""
        with self._lock:
            self._waiting.pop(number, None)

    def _read(self) -> None:
        try:
            while (frame := self._received()).kind is not TaskKind.CLOSE:
                self._submit(frame)
        except Exception as error:  # noqa: BLE001 - raised by `is_reading`
            self._error = error

    def _received(self) -> SocketFrame[TaskKind]:
        return receive(self._end, self._rules.accepted)

    def _submit(self, frame: SocketFrame[TaskKind]) -> None:
        task = self._rules.unpack(frame.content)
        with self._lock:
            allowed = max(1, self._rules.tasks_ahead * self._widest)
            under_way = sum(self._waiting.values()) + len(frame.content)
            is_refused = frame.number in self._waiting or len(self._waiting) >= allowed
            if is_refused or under_way > ROWS_LIMIT:
                raise BrokenError
            self._waiting[frame.number] = len(frame.content)
        if self._error is None:
            try:
                self._queue.submit(frame.number, task)
            except Exception as error:  # noqa: BLE001 - raised by `is_reading`
                self._error = error
