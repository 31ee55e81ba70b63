"""What workers tell to Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

PROTECTIONS = ("no_new_privs", "landlock", "seccomp")


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """Workers at this moment, and what happened to them since the start.

    Attributes
    ----------
    spare_count, warm_count : int
        Those that wait without a model, and with one.
    warm_bytes : int
        Memory of the latter.
    death_count : int
        Those that ended in the middle of a request, by themselves or by a kill from outside.
    missing : tuple of str
        Protections that the kernel does not have.
    """

    spare_count: int
    warm_count: int
    warm_bytes: int
    death_count: int
    missing: tuple[str, ...]


class WorkerState(Collector):
    """Shows the counts.

    Parameters
    ----------
    counts : callable () -> WorkerCounts
        Asked each time that somebody looks.
    """

    def __init__(self, counts: Callable[[], WorkerCounts]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield one family per metric, for a registry."""
        counts = self._counts()
        waiting = GaugeMetricFamily(
            "onnxplain_workers",
            "Processes that wait for a request, without a model (spare) or with one (warm).",
            labels=["state"],
        )
        waiting.add_metric(["spare"], counts.spare_count)
        waiting.add_metric(["warm"], counts.warm_count)
        yield waiting
        yield GaugeMetricFamily(
            "onnxplain_warm_bytes", "Memory of processes that wait with a model.", counts.warm_bytes
        )
        yield CounterMetricFamily(
            "onnxplain_worker_deaths",
            "Processes that ended in the middle of a request.",
            counts.death_count,
        )
        missing = GaugeMetricFamily(
            "onnxplain_protections_missing",
            "1 where the kernel lacks a protection of the processes that compute.",
            labels=["protection"],
        )
        for name in PROTECTIONS:
            missing.add_metric([name], name in counts.missing)
        yield missing
