"""Metrics of a server's Dask cluster: tasks, workers and bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.core.counts.cluster_counts import ClusterCounts, ClusterState, TaskOutcome

_COUNTERS = {
    "onnxplain_cluster_lost_workers": (
        "lost_worker_count",
        "Workers of the Dask cluster that were lost or retired: fewer than when it was last asked.",
    ),
    "onnxplain_cluster_sent_bytes": (
        "sent_bytes",
        "Bytes of jobs, models and rows handed to the Dask cluster, without what Dask adds.",
    ),
    "onnxplain_cluster_received_bytes": (
        "received_bytes",
        "Bytes of results that came from the Dask cluster, without what Dask adds.",
    ),
}


class ClusterCollector(Collector):
    """Collector of the state of a cluster, which is asked at each scrape.

    Parameters
    ----------
    state : callable () -> ClusterState
    """

    def __init__(self, state: Callable[[], ClusterState]) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield one metric family per metric."""
        state = self._state()
        yield _workers(state.worker_count)
        yield _tasks(state.counts)
        for name, (attribute, text) in _COUNTERS.items():
            yield CounterMetricFamily(name, text, getattr(state.counts, attribute))


def _workers(count: int | None) -> Metric:
    family = GaugeMetricFamily(
        "onnxplain_cluster_workers",
        "Workers of the Dask cluster, as its scheduler has them now. Without a value before the"
        " first request that needs the cluster, and while the scheduler does not answer.",
    )
    if count is not None:
        family.add_metric([], count)
    return family


def _tasks(counts: ClusterCounts) -> Metric:
    family = CounterMetricFamily(
        "onnxplain_cluster_tasks",
        "Tasks handed to the Dask cluster that ended: with a result (done), an error (failed), with"
        " their worker or scheduler, and handed over again (lost), or unwanted, as their request"
        " ended before (dropped).",
        labels=["outcome"],
    )
    for outcome in TaskOutcome:
        family.add_metric([outcome.name.lower()], getattr(counts, outcome.value))
    return family
