"""Calls of a model on workers, for one request: as many under way as keep all workers busy."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple, Protocol

from onnxplain_server.adapters.runner.on_workers.prediction_task import (
    PackedRows,
    PredictionJob,
    pack_job,
    pack_rows,
    pack_task,
    unpack_reply,
)
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import (
    CALLS_AHEAD,
    WorkerBatchSize,
)
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.streaming.workers import TaskQueue

_CALL_BYTES = 1 << 30
"""Memory of all calls under way in the process that asks."""
_COPIES, _NUMBER = 4, 8
"""Copies of a call's numbers, and bytes of each: rows as built, as bytes and as sent; answers."""
_POLL_SECONDS = 0.1
"""Between two checks for cancellation."""


class PredictionWorkers(Protocol):
    """Workers that predict; `model` is the file's content, `job` is packed by `pack_job`.

    Attributes
    ----------
    most_calls : int
        Calls that may be under way, each with a thread of the process that asks.
    """

    @property
    def most_calls(self) -> int: ...

    def open_predictions(
        self, model: bytes, job: bytes
    ) -> AbstractContextManager[TaskQueue[bytes]]:
        """Open a queue for the rows of one request, which closing cancels."""


def _width(queue: TaskQueue[bytes], check: Callable[[], None]) -> int:
    """Return the tasks that workers run at the same time, once there is a worker."""
    while not (width := queue.width()):
        check()
        queue.replies(_POLL_SECONDS)
    return width


class _AskedCall(NamedTuple):
    """Call of a thread that waits for its predictions and their processor seconds."""

    rows: PackedRows
    answer: Future[tuple[Array, float]]


class WorkerCalls:
    """Calls of one model by the threads of one request.

    Parameters
    ----------
    workers : PredictionWorkers
    model : bytes
        Content of the file.
    job : PredictionJob
    batch_size : WorkerBatchSize
    row_width : int
        Numbers in a row and in its answer.
    check : callable
        Raises where the request is cancelled or past its deadline.

    Attributes
    ----------
    threads : ThreadPoolExecutor
        One thread for each call under way.
    """

    def __init__(  # noqa: PLR0917 - its parts
        self,
        workers: PredictionWorkers,
        model: bytes,
        job: PredictionJob,
        batch_size: WorkerBatchSize,
        row_width: int,
        check: Callable[[], None],
    ) -> None:
        with ExitStack() as stack:
            opened = workers.open_predictions(model, pack_job(job))
            self._queue = stack.enter_context(opened)
            width = _width(self._queue, check)
            self._stack = stack.pop_all()
        self._batch_size = batch_size
        self._check = check
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._pending: list[_AskedCall] = []
        self._waiting: dict[int, list[_AskedCall]] = {}
        self._failure: BaseException | None = None
        self._changed = threading.Condition(self._lock)
        self._is_closed = False
        most = _CALL_BYTES // (batch_size.LARGEST * row_width * _COPIES * _NUMBER)
        batch_size.width = width
        batch_size.calls_at_once = max(1, min(CALLS_AHEAD * width, most, workers.most_calls))
        self.threads = ThreadPoolExecutor(batch_size.calls_at_once, thread_name_prefix="calls")
        self._receiver = threading.Thread(target=self._receive, name="replies", daemon=True)
        self._receiver.start()

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows on a worker: (n_rows, n_outputs)."""
        call = _AskedCall(pack_rows(feeds), Future())
        with self._changed:
            if self._failure is not None:
                raise self._failure
            self._pending.append(call)
        self._submit()
        predictions, seconds = call.answer.result()
        self._batch_size.tell(seconds)
        return predictions

    def _submit(self) -> None:
        """Submit the tasks that are due."""
        while (due := self._next()) is not None:
            number, calls = due
            try:
                self._queue.submit(number, pack_task([call.rows for call in calls]))
            except BaseException as error:  # noqa: BLE001 - told by each thread that waits
                self._fail(error)
                return
            with self._changed:
                self._changed.notify()

    def _next(self) -> tuple[int, list[_AskedCall]] | None:
        """Take the calls of the next task; None while more calls may join them.

        They wait for more as long as each worker has a task.
        """
        with self._lock:
            together = self._batch_size.calls_together
            is_awaited = len(self._waiting) < self._batch_size.width
            if not self._pending or not (is_awaited or len(self._pending) >= together):
                return None
            calls, self._pending = self._pending[:together], self._pending[together:]
            number = next(self._numbers)
            self._waiting[number] = calls
            return number, calls

    def close(self) -> None:
        """End the threads; nothing new starts, and calls under way are dropped."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._receiver.join()
        self.threads.shutdown()
        self._stack.close()

    def _receive(self) -> None:
        """Hand replies to the threads that wait for them, until the request ends."""
        try:
            while self._has_calls():
                self._check()
                for number, reply in self._queue.replies(_POLL_SECONDS):
                    self._hand_over(number, reply)
        except BaseException as error:  # noqa: BLE001 - told by each thread that waits
            self._fail(error)

    def _hand_over(self, number: int, reply: bytes) -> None:
        with self._lock:
            calls = self._waiting.pop(number, [])
        answers = unpack_reply(reply) if calls else []
        for call, answer in zip(calls, answers, strict=True):
            call.answer.set_result(answer)
        self._submit()

    def _has_calls(self) -> bool:
        """Wait until a call is under way; return whether one is: none once all is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            return not self._is_closed

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._failure = error
            calls = [call for task in self._waiting.values() for call in task] + self._pending
            self._waiting, self._pending = {}, []
        for call in calls:
            call.answer.set_exception(error)
