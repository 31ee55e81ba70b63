"""State metrics: gauges of requests, cache, unread replies and build, computed at each scrape."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.core.interfaces import BlobStore, Cache
from onnxplain_server.transport.admission.scheduler import Scheduler


class UnreadAccount(Protocol):
    """Account of what waits for its other side, with the attributes of `UnreadReplies`."""

    byte_limit: int
    dropped_count: int

    @property
    def byte_count(self) -> int:
        """Bytes that wait."""


class UnreadCollector(Collector):
    """Collector of replies that wait for their readers.

    Parameters
    ----------
    accounts : dict of str to UnreadAccount
        By where the bytes are: memory or disk.
    """

    def __init__(self, accounts: dict[str, UnreadAccount]) -> None:
        self._accounts = accounts

    def collect(self) -> Iterator[Metric]:
        """Yield one metric family per metric."""
        held = GaugeMetricFamily(
            "onnxplain_unread_bytes",
            "Bytes of replies that wait for their readers: of gRPC in memory, each twice; of REST"
            " on disk, with bodies that are coming or wait for their work.",
            labels=["place"],
        )
        limit = GaugeMetricFamily(
            "onnxplain_unread_limit_bytes",
            "Limit of onnxplain_unread_bytes, from which on replies are refused or dropped.",
            labels=["place"],
        )
        dropped = CounterMetricFamily(
            "onnxplain_unread_dropped",
            "Replies, and connections of REST, that were dropped because they were not read in"
            " time, or to make room for others.",
            labels=["place"],
        )
        for place, account in self._accounts.items():
            held.add_metric([place], account.byte_count)
            limit.add_metric([place], account.byte_limit)
            dropped.add_metric([place], account.dropped_count)
        yield from (held, limit, dropped)


class StateCollector(Collector):
    """Collector of requests in flight, the cache, uploaded files, and the build.

    Parameters
    ----------
    scheduler : Scheduler
        Counts the requests.
    cache : Cache
        Shared by all requests.
    store : BlobStore
        Holds uploaded files.
    """

    def __init__(self, scheduler: Scheduler, cache: Cache, store: BlobStore) -> None:
        self._scheduler = scheduler
        self._cache = cache
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Yield one metric family per metric."""
        yield from self._requests()
        yield from self._cached()
        yield from self._stored()
        yield _build()

    def _requests(self) -> Iterator[Metric]:
        counts = self._scheduler.counts()
        yield GaugeMetricFamily(
            "onnxplain_in_flight_requests",
            "Requests in the server: being read, waiting or running.",
            counts.in_flight_count,
        )
        yield GaugeMetricFamily(
            "onnxplain_running_requests", "Running requests.", counts.running_count
        )
        yield GaugeMetricFamily(
            "onnxplain_waiting_requests", "Requests waiting in the queue.", counts.waiting_count
        )
        yield GaugeMetricFamily(
            "onnxplain_waiting_seconds",
            "Estimated time until the requests in the queue have begun.",
            counts.waiting_seconds,
        )
        yield GaugeMetricFamily(
            "onnxplain_callers", "Callers with requests in the server.", counts.caller_count
        )

    def _cached(self) -> Iterator[Metric]:
        counts = self._cache.counts()
        lookups = CounterMetricFamily(
            "onnxplain_cache_requests",
            "Cache lookups: found (hit), not found (miss) or failed (error).",
            labels=["result"],
        )
        lookups.add_metric(["hit"], counts.hit_count)
        lookups.add_metric(["miss"], counts.miss_count)
        lookups.add_metric(["error"], counts.error_count)
        yield lookups
        yield CounterMetricFamily(
            "onnxplain_coalesced",
            "Computations and downloads of models deduplicated (single-flight) in this process or"
            " across replicas.",
            counts.coalesced_count,
        )
        yield GaugeMetricFamily(
            "onnxplain_cache_bytes",
            "Memory of the cache in this process.",
            counts.byte_count,
        )

    def _stored(self) -> Iterator[Metric]:
        counts = self._store.counts()
        yield GaugeMetricFamily(
            "onnxplain_uploads",
            "Uploaded files and fetched models in the memory of this process.",
            counts.file_count,
        )
        yield GaugeMetricFamily(
            "onnxplain_upload_bytes",
            "Memory of uploaded files and fetched models in this process.",
            counts.byte_count,
        )
        yield GaugeMetricFamily(
            "onnxplain_upload_limit_bytes",
            "Limit of the memory of uploaded files, from which on files are evicted.",
            self._store.byte_limit,
        )


def _build() -> Metric:
    family = GaugeMetricFamily(
        "onnxplain_build_info", "Versions; always 1.", labels=["version", "python", "onnxruntime"]
    )
    installed = version("onnxplain-server"), platform.python_version(), version("onnxruntime")
    family.add_metric(installed, 1)
    return family
