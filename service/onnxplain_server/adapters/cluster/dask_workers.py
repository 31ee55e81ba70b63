"""Workers of a Dask cluster: its scheduler knows who is there, and what was lost and runs again."""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import astuple
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker

from onnxplain_server.adapters.cluster import dask_task
from onnxplain_server.adapters.cluster.dask_words import with_cause
from onnxplain_server.adapters.runner.on_workers.worker_batch_size import MOST_CALLS
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.blocks import Range
from onnxplain_server.trees.streaming.workers import SharedFile

LOG = logging.getLogger(__name__)

_MISSING_SECONDS = 30.0
"""Time without any worker after which a request ends, where there were some before."""
_FIRST_SECONDS = 5.0
"""The same where there has never been one."""
_COUNT_SECONDS = 1.0
"""Between two questions of how many threads workers have, and for an answer."""
_RUN_COUNT = 3
"""Times that a task is handed to the cluster, each of which survives several workers."""
_KEPT_COUNT = 6
"""Jobs, passes and models that stay on the cluster: those of the requests that run at a time."""
_GRAPH_WARNING = {"distributed.admin.large-graph-warning-threshold": "1TB"}
"""The bytes of a job and a pass are meant to travel this way, once."""


_Task = TypeVar("_Task")


class _SharedCall(NamedTuple):
    """Call that all tasks of a queue are: `function(*kept, *others, task, release)`."""

    name: str
    function: Callable[..., bytes]
    kept: tuple[bytes, bytes]
    others: tuple[object, ...] = ()


class DaskWorkers:
    """Implements `Workers` and `PredictionWorkers` by a Dask cluster.

    Parameters
    ----------
    client : Client
        Its owner closes it.
    missing_seconds : float
        Time without any worker after which a request ends.

    Attributes
    ----------
    first_seconds : float
        The same, as long as there has never been a worker, if it is less.
    lost_count : int
        Workers that were there at one question, and were not at the next.
    """

    most_calls = MOST_CALLS

    def __init__(self, client: Client, missing_seconds: float = _MISSING_SECONDS) -> None:
        self.client: Any = client
        self.missing_seconds = missing_seconds
        self.first_seconds = _FIRST_SECONDS
        self.lost_count = 0
        self._thread_count, self._worker_count, self._counted = 0, 0, -math.inf
        self._has_had_workers = False
        self._kept: dict[str, Any] = {}
        self._lock = threading.Lock()

    @contextmanager
    def open(
        self, job: bytes, work: bytes, files: Sequence[SharedFile], caller: str = ""
    ) -> Iterator[_DaskQueue[Range]]:
        """Open a queue for a caller of a server; see `Workers.open`."""
        table = tuple(astuple(file) for file in files)
        call = _SharedCall("sums", dask_task.compute, (job, work), (table, caller))
        with _closed(_DaskQueue[Range](self, call)) as opened:
            yield opened

    @contextmanager
    def open_predictions(
        self, model: bytes, job: bytes, caller: str = ""
    ) -> Iterator[_DaskQueue[bytes]]:
        """Open a queue for a caller of a server; see `PredictionWorkers.open_predictions`."""
        call = _SharedCall("predictions", dask_task.predict, (model, job), (caller,))
        with _closed(_DaskQueue[bytes](self, call)) as opened:
            yield opened

    def thread_count(self) -> int:
        """Return the threads of all workers, asked for every second; 0 where nobody answers."""
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            try:
                told = self.client.sync(
                    self.client.scheduler.identity, n_workers=0, callback_timeout=_COUNT_SECONDS
                )
                self._thread_count = int(told["total_threads"])
                self._count_workers(int(told["n_workers"]))
            except (OSError, AttributeError):  # not connected; AttributeError once it is closed
                self._thread_count = 0
            self._counted = time.monotonic()
        return self._thread_count

    @property
    def patience_seconds(self) -> float:
        """Time without any worker after which a request ends, as things are."""
        least = math.inf if self._has_had_workers else self.first_seconds
        return min(self.missing_seconds, least)

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return str(self.client.scheduler.address)

    def _count_workers(self, count: int) -> None:
        lost = self._worker_count - count
        if lost > 0:
            self.lost_count += lost
            LOG.warning(
                "the Dask cluster at %s lost %d of %d workers; what they computed runs again",
                *(self.address, lost, self._worker_count),
            )
        self._has_had_workers |= count > 0
        self._worker_count = count

    def keep(self, contents: Sequence[bytes]) -> list[Future[bytes]]:
        """Return bytes as Dask has them: workers pass them on themselves.

        The job is the same for all passes, a model for all its rows, and so they travel once.
        """
        by_name = {f"onnxplain-{sha256(content).hexdigest()}": content for content in contents}
        with self._lock:
            for name, content in by_name.items():
                future = self._kept.pop(name, None)
                if future is None or future.cancelled():
                    with dask.config.set(_GRAPH_WARNING):
                        future = self.client.submit(dask_task.keep, content, key=name)
                self._kept[name] = future
            for name in [*self._kept][:-_KEPT_COUNT]:
                del self._kept[name]
            return [self._kept[name] for name in by_name]


class _DaskQueue(Generic[_Task]):
    """Implements `TaskQueue`."""

    def __init__(self, workers: DaskWorkers, call: _SharedCall) -> None:
        self._workers = workers
        self._client = workers.client
        self._call = call
        self._queue = uuid4().hex
        self._tasks: dict[int, tuple[Future[bytes], _Task]] = {}
        self._runs: Counter[int] = Counter()
        self._ended: queue.SimpleQueue[tuple[int, Future[bytes]]] = queue.SimpleQueue()
        self._seen = time.monotonic()

    def width(self) -> int:
        return self._workers.thread_count()

    def submit(self, number: int, task: _Task) -> None:
        self._runs[number] += 1
        call, run = self._call, self._runs[number]
        key = (f"onnxplain-{call.name}-{self._queue}", number, run)
        try:
            kept = self._workers.keep(call.kept)
            future: Any = self._client.submit(
                call.function,
                *(*kept, *call.others, task, dask_task.own_release()),
                key=key,
                pure=False,
            )
        except Exception as error:  # noqa: BLE001 - Dask's errors of a closed client are many
            raise _lost(error) from None
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
        if isinstance(result, bytes):
            del self._tasks[number]
            return [(number, dask_task.read_reply(result))]
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
        LOG.warning("a task was lost and runs again: %s", type(result).__name__)
        self.submit(number, self._tasks[number][1])
        return []

    def _check(self) -> None:
        """Raise where nothing will ever be computed."""
        if self._client.status in {"closing", "closed"}:
            raise _lost(None)
        seconds = self._workers.patience_seconds
        if time.monotonic() - self._seen > seconds:
            message = (
                f"the Dask cluster had no worker for {seconds:g} s; start some with the "
                "scheduler's address"
            )
            raise ExplainError(Reason.UNAVAILABLE, with_cause(message, self._workers.address))


@contextmanager
def _closed(opened: _DaskQueue[_Task]) -> Iterator[_DaskQueue[_Task]]:
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
