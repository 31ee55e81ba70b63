"""Calls of a model on workers, for one request: as many under way as keep all workers busy."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol

from onnxplain_server.adapters.runner.on_workers.prediction_task import (
    PredictionJob,
    pack_job,
    pack_rows,
    unpack_reply,
)
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import WorkerBatchSize
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.streaming.workers import TaskQueue

_AHEAD = 2
"""Calls under way for each that runs: workers wait for nobody."""
_EXPECTED_WIDTH = 4
"""Width of workers that have not come yet."""
_CALL_BYTES = 1 << 30
"""Memory of all calls under way in the process that asks."""
_COPIES, _NUMBER = 4, 8
"""Copies of a call's numbers, and bytes of each: rows as built, as bytes and as sent; answers."""
_POLL_SECONDS = 0.1
"""Between two checks for cancellation."""


class PredictionWorkers(Protocol):
    """Workers that predict; `model` is the file's content, `job` is packed by `pack_job`."""

    def open_predictions(
        self, model: bytes, job: bytes
    ) -> AbstractContextManager[TaskQueue[bytes]]:
        """Open a queue for the rows of one request, which closing cancels."""


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
        self._stack = ExitStack()
        queue = workers.open_predictions(model, pack_job(job))
        self._queue = self._stack.enter_context(queue)
        self._batch_size = batch_size
        self._check = check
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, Future[bytes]] = {}
        self._failure: BaseException | None = None
        self._changed = threading.Condition(self._lock)
        self._is_closed = False
        width = self._queue.width() or _EXPECTED_WIDTH
        most = _CALL_BYTES // (batch_size.LARGEST * row_width * _COPIES * _NUMBER)
        batch_size.width = width
        batch_size.calls_at_once = max(1, min(_AHEAD * width, most))
        self.threads = ThreadPoolExecutor(batch_size.calls_at_once, thread_name_prefix="calls")
        self._receiver = threading.Thread(target=self._receive, name="replies", daemon=True)
        self._receiver.start()

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows on a worker: (n_rows, n_outputs)."""
        rows, answer = pack_rows(feeds), Future[bytes]()
        with self._changed:
            if self._failure is not None:
                raise self._failure
            number = next(self._numbers)
            self._waiting[number] = answer
        try:
            self._queue.submit(number, rows)
        except BaseException as error:
            self._fail(error)
            raise
        with self._changed:
            self._changed.notify()
        predictions, seconds = unpack_reply(answer.result())
        self._batch_size.tell(seconds)
        return predictions

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
                    with self._lock:
                        answer = self._waiting.pop(number, None)
                    if answer is not None:
                        answer.set_result(reply)
        except BaseException as error:  # noqa: BLE001 - told by each thread that waits
            self._fail(error)

    def _has_calls(self) -> bool:
        """Wait until a call is under way; return whether one is: none once all is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            return not self._is_closed

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._failure = error
            waiting, self._waiting = list(self._waiting.values()), {}
        for answer in waiting:
            answer.set_exception(error)
