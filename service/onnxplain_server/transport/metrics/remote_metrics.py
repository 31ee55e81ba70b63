"""Metrics of the calls of remote models, by the prefixes that the operator lists."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.core.counts.remote_counts import CountKind
from onnxplain_server.core.remote.sessions import RemoteSessions

_METRICS = {
    CountKind.CALLS: (
        "onnxplain_remote_calls",
        "Calls of remote models that were sent, repeated ones included, by listed prefix.",
    ),
    CountKind.RETRIES: (
        "onnxplain_remote_retries",
        "Repeated calls of remote models, by listed prefix.",
    ),
    CountKind.ROWS: (
        "onnxplain_remote_rows",
        "Rows that remote models were asked for, by listed prefix.",
    ),
    CountKind.FAILURES: (
        "onnxplain_remote_failures",
        "Calls of remote models that failed after all repetitions, by listed prefix.",
    ),
}


class RemoteCollector(Collector):
    """Collector of what calls of remote models came to, each told when its request ended.

    Parameters
    ----------
    sessions : RemoteSessions
    """

    def __init__(self, sessions: RemoteSessions) -> None:
        self._sessions = sessions

    def collect(self) -> Iterator[Metric]:
        """Yield one metric family per metric."""
        counts = self._sessions.counts()
        for kind, (name, text) in _METRICS.items():
            family = CounterMetricFamily(name, text, labels=["prefix"])
            for prefix, of_prefix in counts.items():
                family.add_metric([prefix], getattr(of_prefix, kind.value))
            yield family
