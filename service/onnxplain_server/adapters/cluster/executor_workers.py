"""Workers of any executor of `concurrent.futures`: threads or processes of this machine.

They compute in the process that the executor runs them in, which nothing confines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path

from onnxplain_server.adapters.runner.shared_files import check
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.streaming.remote_tasks import TaskComputer
from onnxplain_server.trees.streaming.blocks import Range
from onnxplain_server.trees.streaming.workers import SharedFile


class ExecutorWorkers:
    """Implements `Workers` by an executor, which its owner shuts down.

    Parameters
    ----------
    executor : Executor
    width : int, optional
        Its threads or processes; by default, the processors of this machine.
    """

    def __init__(self, executor: Executor, width: int | None = None) -> None:
        self._executor = executor
        self._width = width or len(os.sched_getaffinity(0))

    @contextmanager
    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile]
    ) -> Iterator[_ExecutorQueue]:
        """Open a queue; see `Workers.open`."""
        queue = _ExecutorQueue(self._executor, self._width, (job, work, tuple(files)))
        try:
            yield queue
        finally:
            queue.cancel()


class _ExecutorQueue:
    """Implements `TaskQueue`."""

    def __init__(
        self, executor: Executor, width: int, shared: tuple[bytes, bytes, tuple[SharedFile, ...]]
    ) -> None:
        self._executor = executor
        self._width = width
        self._shared = shared
        self._futures: dict[Future[bytes], int] = {}

    def width(self) -> int:
        return self._width

    def submit(self, number: int, task: Range) -> None:
        try:
            future = self._executor.submit(compute_here, *self._shared, task)
        except RuntimeError as error:  # it is shut down, or broken
            raise ExplainError(Reason.UNAVAILABLE, f"the executor takes no task: {error}") from None
        self._futures[future] = number

    def replies(self, seconds: float) -> Sequence[tuple[int, bytes]]:
        done, _ = wait(self._futures, seconds, FIRST_COMPLETED)
        try:
            return [(self._futures.pop(future), future.result()) for future in done]
        except BrokenExecutor as error:
            raise ExplainError(
                Reason.WORKER_DIED, f"a process of the executor died: {error}"
            ) from None

    def cancel(self) -> None:
        """Cancel what has not started, and wait for what has."""
        wait([future for future in self._futures if not future.cancel()])


@cache
def _computer() -> TaskComputer:
    return TaskComputer()


def compute_here(job: bytes, work: bytes, files: tuple[SharedFile, ...], task: Range) -> bytes:
    """Compute a task in this process; see `TaskComputer.compute`."""
    from onnxplain_server.adapters.runner.table_blocks import FileBlocks

    check(files)
    table = FileBlocks([Path(file.path) for file in files])
    return _computer().compute(job, work, task, table, Ledger(_Unwatched()))


class _Unwatched:
    """Host of a task that nobody can cancel once it runs: it takes seconds."""

    def advance(self, done: float, planned: float) -> None:
        """Do nothing."""

    def single_flight(self, _name: str) -> AbstractContextManager[bool]:
        """Never wait."""
        return nullcontext(True)

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return None for each name."""
        return [None] * len(names)

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Drop the entries."""
