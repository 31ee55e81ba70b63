"""Metrics by caller: what teams use, for the callers that the operator lists."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter

from onnxplain_server.transport.audit.ended_explanation import EndedExplanation
from onnxplain_server.transport.request_log import OK

OTHER = "other"
"""Label of all callers that are not listed."""


class CallerMetrics:
    """Sink that counts explanations and their cost by caller; thread-safe.

    Parameters
    ----------
    registry : CollectorRegistry
    callers : sequence of str
        Names as in the log; all others are counted together.
    """

    def __init__(self, registry: CollectorRegistry, callers: Sequence[str]) -> None:
        self._callers = frozenset(callers)
        self._explanations = Counter(
            "onnxplain_caller_explanations",
            "Explanations that ended, by caller and by result: ok or failed.",
            ("caller", "result"),
            registry=registry,
        )
        self._rows = Counter(
            "onnxplain_caller_predicted_rows",
            "Rows predicted, by caller; also for explanations that failed.",
            ("caller",),
            registry=registry,
        )
        self._seconds = Counter(
            "onnxplain_caller_processor_seconds",
            "Processor time of workers, by caller; also for explanations that failed.",
            ("caller",),
            registry=registry,
        )
        # rate() misses the first event of a new series.
        for caller in (*sorted(self._callers), OTHER):
            self._rows.labels(caller)
            self._seconds.labels(caller)
            for result in ("ok", "failed"):
                self._explanations.labels(caller, result)

    def __call__(self, explanation: EndedExplanation) -> None:
        """Count an explanation."""
        caller = explanation.caller if explanation.caller in self._callers else OTHER
        result = "ok" if explanation.outcome == OK else "failed"
        self._explanations.labels(caller, result).inc()
        self._rows.labels(caller).inc(explanation.usage.predicted_row_count)
        self._seconds.labels(caller).inc(explanation.usage.processor_seconds)
