"""Queue of tasks on a Dask cluster: what was lost with its worker is handed over again."""

from __future__ import annotations

import logging
import queue
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

from distributed import Future, KilledWorker

from onnxplain_server.adapters.cluster import dask_task
from onnxplain_server.adapters.cluster.dask_scheduler import DaskScheduler
from onnxplain_server.adapters.cluster.dask_words import with_cause
from onnxplain_server.core.counts.cluster_counts import ClusterCounts, TaskOutcome
from onnxplain_server.core.errors import ExplainError, Reason

LOG = logging.getLogger(__name__)

_RUN_COUNT = 3
"""Times that a task is handed to the cluster, each of which survives several workers."""

_Task = TypeVar("_Task")


class SharedCall(NamedTuple):
    """Call that all tasks of a queue are: `function(*kept, *others, task, release)`."""

    name: str
    function: Callable[..., bytes]
    kept: tuple[bytes, bytes]
    others: tuple[object, ...] = ()


class DaskQueue(Generic[_Task]):
    """Implements `TaskQueue`.

    Parameters
    ----------
    scheduler : DaskScheduler
    call : SharedCall
    """

    def __init__(self, scheduler: DaskScheduler, call: SharedCall) -> None:
        self._scheduler = scheduler
        self._client = scheduler.client
        self._call = call
        self._queue = uuid4().hex
        self._tasks: dict[int, tuple[Future[bytes], _Task]] = {}
        self._runs: Counter[int] = Counter()
        self._ended: queue.SimpleQueue[tuple[int, Future[bytes]]] = queue.SimpleQueue()
        self._seen = time.monotonic()

    def width(self) -> int:
        return self._scheduler.thread_count()

    def submit(self, number: int, task: _Task) -> None:
        self._runs[number] += 1
        call, run = self._call, self._runs[number]
        key = (f"onnxplain-{call.name}-{self._queue}", number, run)
        try:
            kept = self._scheduler.keep(call.kept)
            future: Any = self._client.submit(
                call.function,
                *(*kept, *call.others, task, dask_task.own_release()),
                key=key,
                pure=False,
            )
        except Exception as error:  # noqa: BLE001 - Dask's errors of a closed client are many
            raise _lost(error) from None
        if isinstance(task, bytes):
            self._count(ClusterCounts(sent_bytes=len(task)))
        self._tasks[number] = future, task
        future.add_done_callback(lambda ended: self._ended.put((number, ended)))

    def replies(self, seconds: float) -> Sequence[tuple[int, bytes]]:
        ended: dict[int, Any] = {}
        with suppress(queue.Empty):
            number, future = self._ended.get(timeout=seconds)
            while True:
                if number in self._tasks and self._tasks[number][0] is future:
                    ended[number] = future
                number, future = self._ended.get_nowait()
        results = self._results(list(ended.values()))
        replies = [
            reply
            for number, result in zip(ended, results, strict=True)
            for reply in self._reply(number, result)
        ]
        # Asked in any case: workers that are lost are told.
        if self.width() or replies:
            self._seen = time.monotonic()
        self._check()
        return replies

    def cancel(self) -> None:
        """Cancel all tasks that have not started; those that run end by themselves."""
        futures = [future for future, _ in list(self._tasks.values())]
        with suppress(Exception):  # the scheduler may be gone, and its tasks with it
            self._client.cancel(futures)
        self._count(ClusterCounts(dropped_count=len(futures)))
        self._tasks.clear()

    def _results(self, futures: Sequence[Any]) -> Sequence[bytes | Exception]:
        """Return the results of tasks that ended, or their errors."""
        try:
            # All at once: each alone would be a round trip to its worker.
            gathered: Sequence[bytes] = self._client.gather(futures) if futures else []
        except Exception:  # noqa: BLE001 - of one of them, which is found next
            return [_result(future) for future in futures]
        return gathered

    def _reply(self, number: int, result: bytes | Exception) -> list[tuple[int, bytes]]:
        """Return the sums of a task that ended; submit it again where it was lost."""
        _, task = self._tasks.pop(number)
        try:
            reply = self._read(number, result)
        except ExplainError:
            self._end(TaskOutcome.FAILED)
            raise
        if reply is not None:
            self._end(TaskOutcome.DONE)
            self._count(ClusterCounts(received_bytes=len(reply)))
            return [(number, reply)]
        LOG.warning("a task was lost and runs again: %s", type(result).__name__)
        self._end(TaskOutcome.LOST)
        self.submit(number, task)
        return []

    def _read(self, number: int, result: bytes | Exception) -> bytes | None:
        """Return the sums in a result, None where it was lost; ExplainError."""
        if isinstance(result, bytes):
            return dask_task.read_reply(result)
        if not isinstance(result, CancelledError | KilledWorker | OSError):
            raise ExplainError(
                Reason.UNAVAILABLE,
                with_cause(
                    "the Dask cluster cannot run the tasks; scheduler and workers need "
                    f"onnxplain-server[dask] {dask_task.own_release()}, as here",
                    result,
                ),
            )
        if self._runs[number] == _RUN_COUNT and isinstance(result, KilledWorker):
            raise ExplainError(
                Reason.WORKER_DIED,
                with_cause(
                    f"workers of the cluster died {_RUN_COUNT} times over the same rows", result
                ),
            )
        return None

    def _end(self, outcome: TaskOutcome) -> None:
        self._count(ClusterCounts(**{outcome.value: 1}))

    def _count(self, counts: ClusterCounts) -> None:
        self._scheduler.counter.add(counts)

    def _check(self) -> None:
        """Raise where nothing will ever be computed."""
        if self._client.status in {"closing", "closed"}:
            raise _lost(None)
        seconds = self._scheduler.patience_seconds
        if time.monotonic() - self._seen > seconds:
            message = (
                f"the Dask cluster had no worker for {seconds:g} s; start some with the "
                "scheduler's address"
            )
            raise ExplainError(Reason.UNAVAILABLE, with_cause(message, self._scheduler.address))


@contextmanager
def closed(opened: DaskQueue[_Task]) -> Iterator[DaskQueue[_Task]]:
    """Cancel the tasks of a queue at the end."""
    try:
        yield opened
    finally:
        opened.cancel()


def _result(future: Any) -> bytes | Exception:
    try:
        result: bytes = future.result()
    except Exception as error:  # noqa: BLE001 - told by the caller
        return error
    return result


def _lost(error: Exception | None) -> ExplainError:
    message = "the connection to the Dask scheduler is lost"
    return ExplainError(Reason.UNAVAILABLE, with_cause(message, error) if error else message)
