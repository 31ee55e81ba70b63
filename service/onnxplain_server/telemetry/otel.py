"""OpenTelemetry tracer: exports the spans of each request. Needs the extra `otel`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
)
from opentelemetry.trace import SpanKind, Status, StatusCode

from onnxplain_server.telemetry.spans import Attributes, Span
from onnxplain_server.telemetry.tracing import Trace, parents

_SERVICE = "onnxplain"

_REDIS: Attributes = MappingProxyType({"db.system.name": "redis"})


class OpenTelemetry:
    """`Tracer` that exports to OpenTelemetry.

    Parameters
    ----------
    provider : TracerProvider
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("onnxplain_server", version("onnxplain-server"))

    def begin(self, name: str, headers: Mapping[str, str], attributes: Attributes) -> Trace:
        """Start the server span of a request, as a child of the caller's span."""
        span = self._tracer.start_span(
            name, propagate.extract(headers), SpanKind.SERVER, dict(attributes)
        )
        return _Trace(self._tracer, span)

    def close(self) -> None:
        """Flush spans that have not been exported."""
        self._provider.shutdown()


class _Trace:
    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span
        # Spans are measured by the monotonic clock. Time that passes between both looks counts as
        # less, so of several the largest is the right one.
        self._epoch = max(time.time_ns() - time.monotonic_ns() for _ in range(3))
        ids = span.get_span_context()
        self.trace_id = trace.format_trace_id(ids.trace_id)
        self.span_id = trace.format_span_id(ids.span_id)

    def end(self, spans: Sequence[Span], attributes: Attributes, error: str) -> None:
        """Record the request's spans and end its own."""
        if self._span.is_recording():
            self._record(spans)
            self._span.set_attributes(dict(attributes))
            if error:
                self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end()

    def _record(self, spans: Sequence[Span]) -> None:
        """Record spans, each after its parent."""
        parent_of = parents(spans)
        contexts: dict[int | None, Context] = {None: trace.set_span_in_context(self._span)}
        for i in sorted(range(len(spans)), key=lambda i: (spans[i].start, -spans[i].end)):
            child = self._child(spans[i], contexts[parent_of[i]])
            contexts[i] = trace.set_span_in_context(child)
            child.end(self._time(spans[i].end))

    def _child(self, span: Span, context: Context) -> trace.Span:
        attributes = {key: value for key, value in span.attributes.items() if key != "error"}
        prefixed = {f"{_SERVICE}.{key}": value for key, value in attributes.items()}
        child = self._tracer.start_span(
            f"{span.name} {attributes['method']}" if "method" in attributes else span.name,
            context,
            SpanKind.CLIENT if span.name == "redis" else SpanKind.INTERNAL,
            {**prefixed, **(_REDIS if span.name == "redis" else {})},
            start_time=self._time(span.start),
        )
        if error := span.attributes.get("error"):
            child.set_attribute("error.type", error)
            child.set_status(Status(StatusCode.ERROR, str(error)))
        return child

    def _time(self, seconds: float) -> int:
        return self._epoch + round(seconds * 1e9)


def exporting(exporter: str, protocol: str) -> OpenTelemetry:
    """Make a tracer that exports as the OTEL_* environment variables say.

    Parameters
    ----------
    exporter : str
        "otlp", or "console": standard output.
    protocol : str
        Of OTLP: "http/protobuf" or "grpc".
    """
    resource = Resource.create({"service.version": version("onnxplain-server")})
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": _SERVICE}))
    provider = TracerProvider(resource=resource)
    span_exporter = ConsoleSpanExporter() if exporter == "console" else _otlp(protocol)
    provider.add_span_processor(BatchSpanProcessor(span_exporter))
    return OpenTelemetry(provider)


def _otlp(protocol: str) -> SpanExporter:
    # Imported here, because only one of the two is needed.
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as Grpc,
        )

        return Grpc()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter as Http,
    )

    return Http()
