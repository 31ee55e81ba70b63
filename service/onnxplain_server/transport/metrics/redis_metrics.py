"""Metrics of Redis: whether it is up, and its failures by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.core.operation_store import RedisCounts


class RedisCollector(Collector):
    """Collector of the state of Redis, as the last commands of this process found it.

    Parameters
    ----------
    counts : callable () -> RedisCounts
        Without Redis, metrics without values.
    """

    def __init__(self, counts: Callable[[], RedisCounts] = RedisCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Yield one metric family per metric."""
        counts = self._counts()
        up = GaugeMetricFamily(
            "onnxplain_redis_up",
            "1 if the last command to Redis was answered, a refusal for lack of memory included;"
            " 0 if not. Without a value where the server has no Redis.",
        )
        if counts.is_up is not None:
            up.add_metric([], int(counts.is_up))
        yield up
        failures = CounterMetricFamily(
            "onnxplain_redis_failures",
            "Commands to Redis that failed, by kind: see the table of operations.md.",
            labels=["kind"],
        )
        for kind, count in counts.failures.items():
            failures.add_metric([kind], count)
        yield failures
