"""Spans of a request: recorded where they happen, and nested."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from onnxplain_server.config.otel_variables import Export, export
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Span, Spans, current, span
from onnxplain_server.telemetry.tracing import UNTRACED, parents

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def test_what_is_done_inside_is_noted_once_it_has_ended() -> None:
    spans = Spans()
    before = time.monotonic()
    with spans.collecting(), span("method", method="firm"):
        assert not spans.finished()
    (found,) = spans.finished()
    assert before <= found.start <= found.end <= time.monotonic()
    assert (found.name, found.attributes) == ("method", {"method": "firm"})


def test_an_error_is_named_and_never_quoted() -> None:
    spans = Spans()
    for error in (ExplainError(Reason.INVALID_MODEL, "secret"), KeyError("secret")):
        with pytest.raises(type(error)), spans.measure("load"):
            raise error
    assert [each.attributes for each in spans.finished()] == [
        {"error": "INVALID_MODEL"},
        {"error": "KeyError"},
    ]


def test_calls_side_by_side_are_one_span_within_the_part_that_makes_them() -> None:
    spans = Spans()
    with ThreadPoolExecutor(4) as threads, spans.measure("method", method="firm"):
        start = time.monotonic()
        list(threads.map(lambda rows: spans.count("predict", start, rows), [1, 2, 3]))
    predicted, method = spans.finished()
    assert (predicted.attributes["calls"], predicted.attributes["rows"]) == (3, 6)
    assert method.start <= predicted.start <= predicted.end <= method.end
    assert predicted.seconds == predicted.attributes["seconds"]
    assert predicted.seconds >= predicted.end - predicted.start


def test_where_nothing_collects_nothing_is_kept() -> None:
    with span("decode"):
        assert not current().finished()
    assert not current().finished()


def test_a_request_that_asks_the_cache_for_ever_keeps_bounded_memory() -> None:
    spans = Spans()
    for _ in range(2_000):
        with spans.measure("cache get"):
            pass
    assert len(spans.finished()) < 1_000


def names(spans: Sequence[Span]) -> dict[str, str | None]:
    found = zip(spans, parents(spans), strict=True)
    return {each.name: None if i is None else spans[i].name for each, i in found}


def test_the_part_around_is_the_innermost_in_which_another_began() -> None:
    spans = [
        Span("predict", 4, 8),
        Span("cache get", 5, 6),
        Span("redis", 5, 6),
        Span("queue", 0, 1),
        Span("compute", 1, 10),
        Span("method", 3, 8.8),
        # Its work goes on while the next part has begun.
        Span("cache set", 8.5, 9.5),
        Span("encode", 9, 10),
    ]
    assert names(spans) == {
        "queue": None,
        "compute": None,
        "method": "compute",
        "predict": "method",
        "cache get": "method",
        "redis": "cache get",
        "cache set": "method",
        "encode": "compute",
    }


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (f"00-{TRACE_ID}-b7ad6b7169203331-01", TRACE_ID),
        (f"cc-{TRACE_ID}-b7ad6b7169203331-01-more", TRACE_ID),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", ""),
        ("00-short-b7ad6b7169203331-01", ""),
        ("", ""),
    ],
)
def test_without_tracing_the_log_still_names_the_trace_of_the_caller(
    header: str, found: str
) -> None:
    trace = UNTRACED.begin("Explain", {"traceparent": header}, {})
    assert (trace.trace_id, trace.span_id) == (found, "")


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "a"}, None),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "TRUE"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}, Export("otlp", "http/protobuf")),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, Export("otlp", "http/protobuf")),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            Export("otlp", "grpc"),
        ),
        ({"OTEL_TRACES_EXPORTER": "console"}, Export("console", "http/protobuf")),
    ],
)
def test_traces_are_wanted_where_somebody_says_where_to(
    variables: dict[str, str], wanted: Export | None
) -> None:
    assert export(variables) == wanted


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
    ],
)
def test_what_cannot_be_exported_to_is_named(variables: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"^{list(variables)[-1]}: must be one of"):
        export(variables)
