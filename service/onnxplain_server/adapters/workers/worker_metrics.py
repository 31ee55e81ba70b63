"""Prometheus metrics of workers: states, memory, starts, ends, missing protections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.adapters.workers.census import EndReason

STATES = ("spare", "warm", "busy")

_STATES_TEXT = {
    "worker": "Worker processes: idle without a model (spare), idle with a model (warm), or "
    "running a request (busy).",
    "decoder": "Processes that decode JSON and multipart forms: idle and unused (spare), idle "
    "(warm), or decoding (busy).",
}

PROTECTIONS = ("no_new_privs", "landlock", "capabilities", "seccomp")


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """Current workers, and counts since the start.

    Attributes
    ----------
    own_bytes : mapping of str to sequence of int
        Memory of each worker by state: idle without a model (spare), with one (warm), or busy.
    death_count : int
        Workers that ended during a request, by themselves or by a signal from outside.
    missing : tuple of str
        Sandbox protections that the kernel lacks.
    start_count : int
        Workers started.
    ends : mapping of str to int
        Workers ended, by `EndReason`.
    processor_seconds : float
        Processor time of the workers and of the process that forks them, ended ones included.
    """

    own_bytes: Mapping[str, Sequence[int]]
    death_count: int
    missing: tuple[str, ...]
    start_count: int
    ends: Mapping[str, int]
    processor_seconds: float

    def __add__(self, other: WorkerCounts) -> WorkerCounts:
        """Count two pools together."""
        states = {**self.own_bytes, **other.own_bytes}
        ends = {**self.ends, **other.ends}
        return WorkerCounts(
            {s: [*self.own_bytes.get(s, ()), *other.own_bytes.get(s, ())] for s in states},
            self.death_count + other.death_count,
            self.missing,
            self.start_count + other.start_count,
            {end: self.ends.get(end, 0) + other.ends.get(end, 0) for end in ends},
            self.processor_seconds + other.processor_seconds,
        )


class WorkerState(Collector):
    """Collector of the counts.

    Parameters
    ----------
    noun : str
        "worker" or "decoder", in the names of the metrics.
    counts : callable () -> WorkerCounts
        Called at each scrape.
    """

    def __init__(self, noun: str, counts: Callable[[], WorkerCounts]) -> None:
        self._noun = noun
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield one family per metric, for a registry."""
        counts = self._counts()
        yield from _current(self._noun, counts)
        yield from _totals(self._noun, counts)
        if self._noun == "worker":
            yield from _of_workers(counts)


def _current(noun: str, counts: WorkerCounts) -> Iterator[Metric]:
    """Yield the gauges of current processes."""
    processes = GaugeMetricFamily(f"onnxplain_{noun}s", _STATES_TEXT[noun], labels=["state"])
    memory = GaugeMetricFamily(
        f"onnxplain_{noun}_memory_bytes",
        f"Memory of {noun} processes, without shared memory.",
        labels=["state"],
    )
    for state in STATES:
        own = counts.own_bytes.get(state, ())
        processes.add_metric([state], len(own))
        memory.add_metric([state], sum(own))
    yield from (processes, memory)


def _totals(noun: str, counts: WorkerCounts) -> Iterator[Metric]:
    """Yield the counters of starts and ends."""
    name = noun.capitalize()
    yield CounterMetricFamily(
        f"onnxplain_{noun}_starts", f"{name} processes started.", counts.start_count
    )
    ends = CounterMetricFamily(
        f"onnxplain_{noun}_ends",
        f"{name} processes ended: crashed during a request, killed from outside, stopped by the "
        "server, evicted to make room, or retired after long use.",
        labels=["how"],
    )
    for end in EndReason:
        ends.add_metric([end.value], counts.ends.get(end.value, 0))
    yield ends
    yield CounterMetricFamily(
        f"onnxplain_{noun}_deaths",
        f"{name} processes that ended during a request.",
        counts.death_count,
    )
    yield CounterMetricFamily(
        f"onnxplain_{noun}_cpu_seconds",
        f"Processor time of {noun} processes, ended ones included.",
        counts.processor_seconds,
    )


def _of_workers(counts: WorkerCounts) -> Iterator[Metric]:
    """Yield what only processes with models have."""
    warm_bytes = sum(counts.own_bytes.get("warm", ()))
    yield GaugeMetricFamily(
        "onnxplain_warm_bytes", "Memory of idle workers with a loaded model.", warm_bytes
    )
    missing = GaugeMetricFamily(
        "onnxplain_protections_missing",
        "1 if the kernel lacks a protection of worker processes.",
        labels=["protection"],
    )
    for name in PROTECTIONS:
        missing.add_metric([name], name in counts.missing)
    yield missing
