"""Metrics of quotas: whether they hold among all servers."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.transport.admission.quotas import Quotas


class QuotaState(Collector):
    """Collector of faults of counting.

    Parameters
    ----------
    quotas : Quotas
    """

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        yield CounterMetricFamily(
            "onnxplain_quota_errors",
            "Times that Redis did not count for quotas, and this server counted alone.",
            self._quotas.error_count,
        )
