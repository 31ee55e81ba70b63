"""Workers of any executor of `concurrent.futures`: threads or processes of this machine.

They compute in the process that the executor runs them in, which nothing confines.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

from onnxplain_server.adapters.runner.blocks.shared_files import check
from onnxplain_server.adapters.runner.on_workers.prediction_task import PredictionComputer
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import MOST_CALLS
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Host
from onnxplain_server.core.systems.processors import processor_count
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.streaming.remote_tasks import TaskComputer
from onnxplain_server.trees.streaming.workers import Range, SharedFile

_Task = TypeVar("_Task")
_MODEL_MISSING = b""


class ExecutorWorkers:
    """Implements `Workers` and `PredictionWorkers` by an executor, which its owner shuts down.

    Parameters
    ----------
    executor : Executor
    width : int, optional
        Its threads or processes; by default, the processors of this machine.
    """

    most_calls = MOST_CALLS

    def __init__(self, executor: Executor, width: int | None = None) -> None:
        self._executor = executor
        self._width = width or processor_count()

    @contextmanager
    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile]
    ) -> Iterator[_ExecutorQueue[Range]]:
        """Open a queue; see `Workers.open`."""
        table = tuple(files)

        def start(task: Range) -> Future[bytes]:
            return self._executor.submit(compute_here, job, work, table, task)

        with _closed(_ExecutorQueue(self._width, start)) as opened:
            yield opened

    @contextmanager
    def open_predictions(self, model: bytes, job: bytes) -> Iterator[_ExecutorQueue[bytes]]:
        """Open a queue; see `PredictionWorkers.open_predictions`.

        Tasks name the model by its digest; only those whose process does not have it take it along.
        """
        digest = sha256(model).hexdigest()

        def start(rows: bytes) -> Future[bytes]:
            return self._executor.submit(predict_here, digest, None, job, rows)

        def again(rows: bytes, reply: bytes) -> Future[bytes] | None:
            if reply != _MODEL_MISSING:
                return None
            return self._executor.submit(predict_here, digest, model, job, rows)

        with _closed(_ExecutorQueue(self._width, start, again)) as opened:
            yield opened


class _ExecutorQueue(Generic[_Task]):
    """Implements `TaskQueue`.

    Parameters
    ----------
    width : int
    start : callable (task) -> Future
    again : callable (task, reply) -> Future or None
        Starts a task once more where its reply says so.
    """

    def __init__(
        self,
        width: int,
        start: Callable[[_Task], Future[bytes]],
        again: Callable[[_Task, bytes], Future[bytes] | None] = lambda _task, _reply: None,
    ) -> None:
        self._width = width
        self._start = start
        self._again = again
        self._tasks: dict[int, tuple[Future[bytes], _Task]] = {}
        self._ended: queue.SimpleQueue[int] = queue.SimpleQueue()

    def width(self) -> int:
        return self._width

    def submit(self, number: int, task: _Task) -> None:
        try:
            self._follow(number, self._start(task), task)
        except RuntimeError as error:
            raise _takes_none(error) from None

    def replies(self, seconds: float) -> Sequence[tuple[int, bytes]]:
        replies: list[tuple[int, bytes]] = []
        with suppress(queue.Empty):
            number = self._ended.get(timeout=seconds)
            while True:
                replies += self._reply(number)
                number = self._ended.get_nowait()
        return replies

    def cancel(self) -> None:
        """Cancel what has not started, and wait for what has."""
        wait([future for future, _ in list(self._tasks.values()) if not future.cancel()])

    def _follow(self, number: int, future: Future[bytes], task: _Task) -> None:
        self._tasks[number] = future, task
        future.add_done_callback(lambda _ended: self._ended.put(number))

    def _reply(self, number: int) -> list[tuple[int, bytes]]:
        future, task = self._tasks.pop(number)
        try:
            reply = future.result()
        except BrokenExecutor as error:
            raise ExplainError(
                Reason.WORKER_DIED, f"a process of the executor died: {error}"
            ) from None
        except CancelledError:
            raise ExplainError(Reason.UNAVAILABLE, "the executor was shut down") from None
        try:
            following = self._again(task, reply)
        except RuntimeError as error:
            raise _takes_none(error) from None
        if following is None:
            return [(number, reply)]
        self._follow(number, following, task)
        return []


def _takes_none(error: RuntimeError) -> ExplainError:
    """Return the error for an executor that is shut down, or broken."""
    return ExplainError(Reason.UNAVAILABLE, f"the executor takes no task: {error}")


@contextmanager
def _closed(opened: _ExecutorQueue[_Task]) -> Iterator[_ExecutorQueue[_Task]]:
    try:
        yield opened
    finally:
        opened.cancel()


@cache
def _computer() -> TaskComputer:
    return TaskComputer()


def compute_here(job: bytes, work: bytes, files: tuple[SharedFile, ...], task: Range) -> bytes:
    """Compute a task in this process; see `TaskComputer.compute`."""
    from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks

    check(files)
    table = FileBlocks([Path(file.path) for file in files])
    return _computer().compute(job, work, task, table, Ledger(Host()))  # nobody cancels a task


@cache
def _predictions() -> PredictionComputer:
    return PredictionComputer()


_models: dict[str, bytes] = {}
"""The last model whose content came to this process, by its digest."""


def predict_here(digest: str, model: bytes | None, job: bytes, rows: bytes) -> bytes:
    """Predict rows in this process; return _MODEL_MISSING where it needs the model's content."""
    content = model if model is not None else _models.get(digest)
    if content is None:
        return _MODEL_MISSING
    if model is not None:
        _models.clear()
        _models[digest] = model
    return _predictions().compute(content, job, rows, lambda: None)
