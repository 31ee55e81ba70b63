"""Scheduler of a Dask cluster: who is there, what was lost, and the bytes that stay on it."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import dask
from distributed import Client, Future

from onnxplain_server.adapters.cluster import dask_task
from onnxplain_server.adapters.cluster.cluster_counter import ClusterCounter
from onnxplain_server.core.counts.cluster_counts import ClusterCounts

LOG = logging.getLogger(__name__)

_MISSING_SECONDS = 30.0
"""Time without any worker after which a request ends, where there were some before."""
_FIRST_SECONDS = 5.0
"""The same where there has never been one."""
_COUNT_SECONDS = 1.0
"""Between two questions of how many threads workers have, and for an answer."""
_KEPT_COUNT = 6
"""Jobs, passes and models that stay on the cluster: those of the requests that run at a time."""
_GRAPH_WARNING = {"distributed.admin.large-graph-warning-threshold": "1TB"}
"""The bytes of a job and a pass are meant to travel this way, once."""


class DaskScheduler:
    """Connection to the scheduler of a Dask cluster.

    Parameters
    ----------
    client : Client
        Its owner closes it.
    missing_seconds : float
        Time without any worker after which a request ends.
    counter : ClusterCounter, optional
        Counts what the cluster does, over all connections to it.

    Attributes
    ----------
    first_seconds : float
        The same, as long as there has never been a worker, if it is less.
    """

    def __init__(
        self,
        client: Client,
        missing_seconds: float = _MISSING_SECONDS,
        counter: ClusterCounter | None = None,
    ) -> None:
        self.client: Any = client
        self.missing_seconds = missing_seconds
        self.first_seconds = _FIRST_SECONDS
        self.counter = counter or ClusterCounter()
        self._thread_count, self._worker_count, self._counted = 0, 0, -math.inf
        self._is_answered = self._has_had_workers = False
        self._kept: dict[str, Any] = {}
        self._lock, self._asking = threading.Lock(), threading.Lock()

    def thread_count(self) -> int:
        """Return the threads of all workers, asked for every second; 0 where nobody answers."""
        with self._asking:  # sessions share the answer, and count those that are lost once
            if time.monotonic() - self._counted > _COUNT_SECONDS:
                self._ask()
            return self._thread_count

    def worker_count(self) -> int | None:
        """Return the workers, asked for every second; None where nobody answers."""
        self.thread_count()
        return self._worker_count if self._is_answered else None

    @property
    def patience_seconds(self) -> float:
        """Time without any worker after which a request ends, as things are."""
        least = math.inf if self._has_had_workers else self.first_seconds
        return min(self.missing_seconds, least)

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return str(self.client.scheduler.address)

    def _ask(self) -> None:
        try:
            told = self.client.sync(
                self.client.scheduler.identity, n_workers=0, callback_timeout=_COUNT_SECONDS
            )
            self._thread_count = int(told["total_threads"])
            self._count_workers(int(told["n_workers"]))
            self._is_answered = True
        except (OSError, AttributeError):  # not connected; AttributeError once it is closed
            self._thread_count, self._is_answered = 0, False
        self._counted = time.monotonic()

    def _count_workers(self, count: int) -> None:
        lost = self._worker_count - count
        if lost > 0:
            self.counter.add(ClusterCounts(lost_worker_count=lost))
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
                    self.counter.add(ClusterCounts(sent_bytes=len(content)))
                self._kept[name] = future
            for name in [*self._kept][:-_KEPT_COUNT]:
                del self._kept[name]
            return [self._kept[name] for name in by_name]
