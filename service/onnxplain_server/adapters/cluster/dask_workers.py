"""Workers of a Dask cluster: its scheduler knows who is there, and what was lost and runs again."""

from __future__ import annotations

import logging
import math
import queue
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import astuple
from hashlib import sha256
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker

from onnxplain_server.adapters.cluster import dask_task
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.streaming.blocks import Range
from onnxplain_server.trees.streaming.workers import SharedFile

LOG = logging.getLogger(__name__)

_MISSING_SECONDS = 30.0
"""Time without any worker after which a request ends."""
_COUNT_SECONDS = 1.0
"""Between two questions of how many threads workers have, and for an answer."""
_RUN_COUNT = 3
"""Times that a task is handed to the cluster, each of which survives several workers."""
_GRAPH_WARNING = {"distributed.admin.large-graph-warning-threshold": "1TB"}
"""The bytes of a job and a pass are meant to travel this way, once."""


class DaskWorkers:
    """Implements `Workers` by a Dask cluster.

    Parameters
    ----------
    client : Client
        Its owner closes it.
    missing_seconds : float
        Time without any worker after which a request ends.
    """

    def __init__(self, client: Client, missing_seconds: float = _MISSING_SECONDS) -> None:
        self.client: Any = client
        self.missing_seconds = missing_seconds
        self._thread_count, self._counted = 0, -math.inf
        self._kept: dict[str, Any] = {}

    @contextmanager
    def open(self, job: bytes, work: bytes, files: Sequence[SharedFile]) -> Iterator[_DaskQueue]:
        """Open a queue; see `Workers.open`."""
        opened = _DaskQueue(self, (job, work), files)
        try:
            yield opened
        finally:
            opened.cancel()

    def thread_count(self) -> int:
        """Return the threads of all workers, asked for every second; 0 where nobody answers."""
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            try:
                told = self.client.sync(
                    self.client.scheduler.identity, n_workers=0, callback_timeout=_COUNT_SECONDS
                )
                self._thread_count = int(told["total_threads"])
            except (OSError, AttributeError):  # not connected; AttributeError once it is closed
                self._thread_count = 0
            self._counted = time.monotonic()
        return self._thread_count

    def keep(self, contents: Sequence[bytes]) -> list[Future[bytes]]:
        """Return bytes as Dask has them, until others are kept: workers pass them on themselves.

        The job is the same for all passes, and so travels once.
        """
        by_name = {f"onnxplain-{sha256(content).hexdigest()}": content for content in contents}
        kept = {name: future for name, future in self._kept.items() if name in by_name}
        for name, content in by_name.items():
            if name not in kept or kept[name].cancelled():
                with dask.config.set(_GRAPH_WARNING):
                    kept[name] = self.client.submit(dask_task.keep, content, key=name)
        self._kept = kept
        return [kept[name] for name in by_name]


class _DaskQueue:
    """Implements `TaskQueue`."""

    def __init__(
        self, workers: DaskWorkers, shared: tuple[bytes, bytes], files: Sequence[SharedFile]
    ) -> None:
        self._workers = workers
        self._client = workers.client
        self._shared = shared
        self._files = tuple(astuple(file) for file in files)
        self._pass = uuid4().hex
        self._tasks: dict[int, tuple[Future[bytes], Range]] = {}
        self._runs: Counter[int] = Counter()
        self._ended: queue.SimpleQueue[tuple[int, Future[bytes]]] = queue.SimpleQueue()
        self._seen = time.monotonic()

    def width(self) -> int:
        return self._workers.thread_count()

    def submit(self, number: int, task: Range) -> None:
        self._runs[number] += 1
        run = self._runs[number]
        key = (f"onnxplain-sums-{self._pass}", number, run)
        try:
            shared = self._workers.keep(self._shared)
            future: Any = self._client.submit(
                dask_task.compute,
                *(*shared, self._files, task, dask_task.own_release()),
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
        if replies or self.width():
            self._seen = time.monotonic()
        self._check()
        return replies

    def cancel(self) -> None:
        """Cancel all tasks that have not started; those that run end by themselves."""
        futures = [future for future, _ in self._tasks.values()]
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
                "the Dask cluster cannot run the tasks; scheduler and workers need "
                f"onnxplain-server[dask] {dask_task.own_release()}, as here: {result}",
            )
        if self._runs[number] == _RUN_COUNT and isinstance(result, KilledWorker):
            raise ExplainError(
                Reason.WORKER_DIED,
                f"workers of the cluster died {_RUN_COUNT} times over the same rows: {result}",
            )
        LOG.warning("a task was lost and runs again: %s", type(result).__name__)
        self.submit(number, self._tasks[number][1])
        return []

    def _check(self) -> None:
        """Raise where nothing will ever be computed."""
        if self._client.status in {"closing", "closed"}:
            raise _lost(None)
        if time.monotonic() - self._seen > self._workers.missing_seconds:
            raise ExplainError(
                Reason.UNAVAILABLE,
                f"the Dask cluster had no worker for {self._workers.missing_seconds:g} s; "
                "start some with the scheduler's address",
            )


def _result(future: Any) -> bytes | Exception:
    try:
        result: bytes = future.result()
    except Exception as error:  # noqa: BLE001 - told by the caller
        return error
    return result


def _lost(error: Exception | None) -> ExplainError:
    cause = f": {error}" if error else ""
    return ExplainError(Reason.UNAVAILABLE, f"the connection to the Dask scheduler is lost{cause}")
