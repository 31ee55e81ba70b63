"""Metrics of operations: those of all servers on one Redis, so each server tells the same."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onnxplain_server.core.operation_store import OperationStore, OperationStoreError
from onnxplain_server.core.operations import OperationCounts, OperationState


class OperationCollector(Collector):
    """Collector of operations by state, their age, take-overs and bytes.

    Parameters
    ----------
    store : OperationStore or None
        Without one, all metrics are 0. While it does not answer, there are none.
    """

    def __init__(self, store: OperationStore | None) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Yield one metric family per metric."""
        if self._store is None:
            yield from _families(OperationCounts({}), 0)
            return
        try:
            counts = self._store.counts()
        except OperationStoreError:
            return
        yield from _families(counts, self._store.limits.byte_count)


def _families(counts: OperationCounts, byte_limit: int) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "onnxplain_operations",
        "Kept operations by state: pending, running, succeeded, failed or cancelled.",
        labels=["state"],
    )
    for state in OperationState:
        states.add_metric([state.value], counts.states.get(state, 0))
    yield states
    yield GaugeMetricFamily(
        "onnxplain_oldest_pending_operation_seconds",
        "Age of the oldest operation that waits for a server; 0 without one.",
        counts.oldest_pending_seconds,
    )
    yield CounterMetricFamily(
        "onnxplain_resumed_operations",
        "Operations that a server took over from one that was lost.",
        counts.resumed_count,
    )
    yield GaugeMetricFamily(
        "onnxplain_operation_bytes",
        "Requests and responses of operations.",
        counts.byte_count,
    )
    yield GaugeMetricFamily(
        "onnxplain_operation_limit_bytes",
        "Limit of these bytes, from which on the oldest responses are forgotten.",
        byte_limit,
    )
