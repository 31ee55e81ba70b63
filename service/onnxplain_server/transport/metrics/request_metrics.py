"""Request metrics: counters and histograms under the names that dashboards expect.

Labels come from closed lists: no model, feature or path is ever a label, and only callers that the
operator lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain.v1.explanation_service_pb2 import MethodOptions
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.registry import Collector

from onnxplain_server.core.errors import Reason
from onnxplain_server.telemetry.spans import Span
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation, ExplanationSink
from onnxplain_server.transport.grpc_methods import METHODS, service_of
from onnxplain_server.transport.metrics.caller_metrics import CallerMetrics
from onnxplain_server.transport.status import STATUS

_SEVERAL = "several"

_METHODS = (*MethodOptions.DESCRIPTOR.fields_by_name, _SEVERAL)

# From a cached answer to the longest usual computation.
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

# Commands to Redis end within a quarter of a second.
_REDIS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)

# A slot is often free at once; waits are bounded like computations.
_WAIT_SECONDS = (0.001, *_SECONDS)

_HTTP_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"}

_RPC = ("grpc_type", "grpc_service", "grpc_method")
_HTTP = ("http_request_method", "http_route", "http_response_status_code")


class Metrics:
    """Metrics since the start, in a registry of their own; thread-safe.

    Parameters
    ----------
    collectors : Collector
        Further collectors of the metrics page.
    callers : sequence of str
        Callers that are a label of usage; without any, usage is not counted by caller.

    Attributes
    ----------
    registry : CollectorRegistry
        All collectors of the metrics page.
    """

    def __init__(self, *collectors: Collector, callers: Sequence[str] = ()) -> None:
        self.registry = _registry()
        for collector in collectors:
            self.registry.register(collector)
        self._sinks: list[ExplanationSink] = []
        if callers:
            self._sinks.append(CallerMetrics(self.registry, callers))
        self._rpcs_started = self._counter("grpc_server_started", "gRPC calls started.", _RPC)
        self._rpcs = self._counter(
            "grpc_server_handled", "gRPC calls ended, by code.", (*_RPC, "grpc_code")
        )
        self._rpc_seconds = self._histogram(
            "grpc_server_handling_seconds", "Duration of gRPC calls, including waiting.", _RPC
        )
        self._http_seconds = self._histogram(
            "http_server_request_duration_seconds",
            "Duration of REST requests, including waiting.",
            _HTTP,
        )
        self._explain_seconds = self._histogram(
            "onnxplain_explain_duration_seconds",
            "Time to compute answers, without waiting; the label is the method, or several.",
            ("method",),
        )
        self._predicted_rows = self._counter(
            "onnxplain_predicted_rows", "Rows predicted by models for answers.", ()
        )
        self._count_parts()
        self._rejected = self._counter(
            "onnxplain_rejected", "Requests that failed, by reason.", ("reason",)
        )
        self._audit_errors = self._counter(
            "onnxplain_audit_errors", "Lines of the audit log that could not be written.", ()
        )
        self._show_zeros()

    def _count_parts(self) -> None:
        """Make the metrics of the parts of a request."""
        self._wait_seconds = self._histogram(
            "onnxplain_queue_wait_seconds",
            "Time that requests waited in the queue, including those that gave up.",
            (),
            _WAIT_SECONDS,
        )
        self._predict_seconds = self._histogram(
            "onnxplain_predict_seconds",
            "Prediction time of a request, summed over concurrent calls of the model.",
            (),
        )
        self._redis_seconds = self._histogram(
            "onnxplain_redis_seconds",
            "Duration of commands to Redis for requests, including those that time out.",
            (),
            _REDIS_SECONDS,
        )
        self._loads = self._counter(
            "onnxplain_model_loads", "Attempts to load a model, by result.", ("result",)
        )

    def rpc_started(self, method: str) -> None:
        """Count the start of a call of a service method; other methods are not counted."""
        if method not in METHODS:
            return
        self._rpcs_started.labels(*_rpc(method)).inc()

    def rpc_ended(self, method: str, code: str, seconds: float) -> None:
        """Count the end of a call by its code, like "OK"."""
        if method not in METHODS:
            return
        self._rpcs.labels(*_rpc(method), code).inc()
        self._rpc_seconds.labels(*_rpc(method)).observe(seconds)

    def http_ended(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a REST request; `route` is a URL pattern of the server, or empty."""
        self._http_seconds.labels(known_method(method), route, str(status)).observe(seconds)

    def rejected(self, reason: str) -> None:
        """Count a failed request; the reason is one of `Reason` or of HTTP."""
        self._rejected.labels(reason).inc()

    def explained(
        self,
        method: str,
        seconds: float,
        predicted_row_count: float,
        trace_id: str = "",
    ) -> None:
        """Count a computation, of several methods if unnamed; its recorded trace: the exemplar."""
        exemplar = {"trace_id": trace_id} if trace_id else None
        self._explain_seconds.labels(method or _SEVERAL).observe(seconds, exemplar)
        self.predicted(predicted_row_count)

    def predicted(self, row_count: float) -> None:
        """Count rows that a model has predicted for an answer."""
        self._predicted_rows.inc(row_count)

    def on_explanation(self, sink: ExplanationSink) -> None:
        """Pass explanations that end from now on to another sink too."""
        self._sinks.append(sink)

    def explanation_ended(self, explanation: EndedExplanation) -> None:
        """Count an explanation for its caller, whatever ended it, and pass it on."""
        for sink in self._sinks:
            sink(explanation)

    def audit_failed(self) -> None:
        """Count a line of the audit log that could not be written."""
        self._audit_errors.inc()

    def observe_spans(self, spans: Sequence[Span]) -> None:
        """Observe queueing, loading, predicting and Redis from the spans of a request."""
        for span in spans:
            match span.name:
                case "queue":
                    self._wait_seconds.observe(span.seconds)
                case "redis":
                    self._redis_seconds.observe(span.seconds)
                case "load":
                    self._loads.labels("failed" if "error" in span.attributes else "loaded").inc()
        if durations := [span.seconds for span in spans if span.name == "predict"]:
            self._predict_seconds.observe(sum(durations))

    def _counter(self, name: str, text: str, labels: Sequence[str]) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, labels: Sequence[str], buckets: Sequence[float] = _SECONDS
    ) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=buckets)

    def _show_zeros(self) -> None:
        """Start all series at 0: rate() misses the first event of a new series."""
        codes = sorted({status.grpc.name for status in STATUS.values()} | {"OK"})
        for rpc in map(_rpc, METHODS):
            self._rpcs_started.labels(*rpc)
            self._rpc_seconds.labels(*rpc)
            for code in codes:
                self._rpcs.labels(*rpc, code)
        for reason in Reason:
            self._rejected.labels(reason.name)
        for result in ("loaded", "failed"):
            self._loads.labels(result)
        for method in _METHODS:
            self._explain_seconds.labels(method)


def _registry() -> CollectorRegistry:
    # Otherwise every series gets a second one with its creation time.
    disable_created_metrics()  # type: ignore[no-untyped-call] # it declares no types
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def known_method(method: str) -> str:
    """Return the HTTP method, or "_OTHER" for an unknown one, as OpenTelemetry has it."""
    return method if method in _HTTP_METHODS else "_OTHER"


def _rpc(method: str) -> tuple[str, str, str]:
    descriptor = METHODS[method]
    match descriptor.client_streaming, descriptor.server_streaming:
        case False, False:
            kind = "unary"
        case True, False:
            kind = "client_stream"
        case False, True:
            kind = "server_stream"
        case _:
            kind = "bidi_stream"
    return kind, service_of(method), method
