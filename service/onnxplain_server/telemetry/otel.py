"""Traces by OpenTelemetry, which the extra `otel` installs."""

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
    """A `Tracer`.

    Parameters
    ----------
    provider : TracerProvider
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("onnxplain_server", version("onnxplain-server"))

    def begin(self, name: str, headers: Mapping[str, str], attributes: Attributes) -> Trace:
        """See `Tracer.begin`."""
        span = self._tracer.start_span(
            name, propagate.extract(headers), SpanKind.SERVER, dict(attributes)
        )
        return _Trace(self._tracer, span)

    def close(self) -> None:
        """Send what has not been sent."""
        self._provider.shutdown()


class _Trace:
    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span
        # Spans are measured by a clock that is never set.
        self._epoch = time.time_ns() - time.monotonic_ns()
        ids = span.get_span_context()
        self.trace_id = trace.format_trace_id(ids.trace_id)
        self.span_id = trace.format_span_id(ids.span_id)

    def end(self, spans: Sequence[Span], attributes: Attributes, error: str) -> None:
        """See `Trace.end`."""
        if self._span.is_recording():
            self._record(spans)
            self._span.set_attributes(dict(attributes))
            if error:
                self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end()

    def _record(self, spans: Sequence[Span]) -> None:
        """Record the parts, each after the one around it."""
        around = parents(spans)
        contexts: dict[int | None, Context] = {None: trace.set_span_in_context(self._span)}
        for i in sorted(range(len(spans)), key=lambda i: (spans[i].start, -spans[i].end)):
            made = self._made(spans[i], contexts[around[i]])
            contexts[i] = trace.set_span_in_context(made)
            made.end(self._time(spans[i].end))

    def _made(self, span: Span, context: Context) -> trace.Span:
        attributes = {key: value for key, value in span.attributes.items() if key != "error"}
        named = {f"{_SERVICE}.{key}": value for key, value in attributes.items()}
        made = self._tracer.start_span(
            f"{span.name} {attributes['method']}" if "method" in attributes else span.name,
            context,
            SpanKind.CLIENT if span.name == "redis" else SpanKind.INTERNAL,
            {**named, **(_REDIS if span.name == "redis" else {})},
            start_time=self._time(span.start),
        )
        if error := span.attributes.get("error"):
            made.set_attribute("error.type", error)
            made.set_status(Status(StatusCode.ERROR, str(error)))
        return made

    def _time(self, seconds: float) -> int:
        return self._epoch + round(seconds * 1e9)


def exporting(exporter: str, protocol: str) -> OpenTelemetry:
    """Make a tracer that sends to where OpenTelemetry's variables say.

    Parameters
    ----------
    exporter : str
        "otlp", or "console": standard output.
    protocol : str
        Of OTLP: "http/protobuf" or "grpc".
    """
    named = Resource.create({"service.version": version("onnxplain-server")})
    if str(named.attributes.get("service.name", "")).startswith("unknown_service"):
        named = named.merge(Resource({"service.name": _SERVICE}))
    provider = TracerProvider(resource=named)
    made = ConsoleSpanExporter() if exporter == "console" else _otlp(protocol)
    provider.add_span_processor(BatchSpanProcessor(made))
    return OpenTelemetry(provider)


def _otlp(protocol: str) -> SpanExporter:
    # Each brings its own way to send; the other need not be loaded.
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as Grpc,
        )

        return Grpc()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter as Http,
    )

    return Http()
