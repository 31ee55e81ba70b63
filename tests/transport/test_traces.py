"""Traces: one per explanation, from the caller into the worker process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import grpc
import onnx
import pytest
from google.protobuf.json_format import MessageToJson
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainStreamRequest, MethodOptions
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup, PartialDependenceOptions
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts
from onnxplain_server.config.loading import load
from onnxplain_server.core.model_limits import DEFAULT_LIMITS
from onnxplain_server.serve import Server
from onnxplain_server.telemetry.otel import OpenTelemetry
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

MODELS = Path(__file__).parents[1] / "models"
TRACE_ID, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE_ID}-{PARENT_ID}-01"


class Traced:
    """A server that computes in processes of their own, and what it has told of its requests."""

    def __init__(self, server: Server, told: InMemorySpanExporter) -> None:
        self.server = server
        self._told = told

    def spans(self, name: str) -> Sequence[ReadableSpan]:
        """Wait for the span of the last request of a name, which ends last; all of its trace."""
        end = time.monotonic() + 120
        while not (
            roots := [span for span in self._told.get_finished_spans() if span.name == name]
        ):
            assert time.monotonic() < end, [s.name for s in self._told.get_finished_spans()]
            time.sleep(0.02)
        trace = roots[-1].context
        assert trace is not None
        return [
            span
            for span in self._told.get_finished_spans()
            if span.context and span.context.trace_id == trace.trace_id
        ]

    @property
    def names(self) -> Sequence[str]:
        """Names of all spans since the last `forget`."""
        return [span.name for span in self._told.get_finished_spans()]

    def forget(self) -> None:
        """Forget the requests so far."""
        self._told.clear()


@pytest.fixture(scope="module")
def traced() -> Iterator[Traced]:
    told = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(told))
    settings = load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0})
    order = WorkerSettings(1, 2**24, Budget(2**30, 600), DEFAULT_LIMITS)
    with closing(Isolated(order, 1, 2**28, WorkerTimeouts(120, 1))) as runner:
        server = Server(
            settings,
            runner,
            MemoryCache(2**20, Signer(b"0" * 32)),
            MemoryBlobs(2**20, 60),
            decoder=LocalDecoder(),
            tracer=OpenTelemetry(provider),
        )
        yield Traced(server, told)
        server.drain(0)
        provider.shutdown()


def request(model: str, copy: str = "") -> ExplainRequest:
    """Ask for two methods; a named copy of a model is one that the server has not seen."""
    file = MODELS / f"{model}.onnx"
    content = onnx.load(file)
    content.doc_string = copy
    given = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))["columns"]
    columns = [Column(name=name, numbers=values[:20]) for name, values in given.items()]
    first, second = list(given)[:2]
    return ExplainRequest(
        model=Model(content=content.SerializeToString()),
        table=Table(columns=Columns(columns=columns)),
        feature_columns=list(given),
        row_count=10,
        methods=[
            MethodOptions(interactions=InteractionsOptions(features=[first, second])),
            MethodOptions(
                partial_dependence=PartialDependenceOptions(features=[FeatureGroup(names=[first])])
            ),
        ],
    )


@pytest.fixture(scope="module")
def by_grpc(traced: Traced) -> Sequence[ReadableSpan]:
    """The trace of a call on gRPC, whose caller is traced."""
    traced.forget()
    with grpc.insecure_channel(f"127.0.0.1:{traced.server.grpc_port}") as channel:
        ExplanationServiceStub(channel).Explain(
            request("sklearn_network_binary", "by gRPC"),
            metadata=[("traceparent", TRACEPARENT), ("x-request-id", "abc")],
        )
    return traced.spans("onnxplain.v1.ExplanationService/Explain")


@pytest.fixture(scope="module")
def by_rest(traced: Traced) -> Sequence[ReadableSpan]:
    """The trace of a request on REST, whose caller is traced."""
    traced.forget()
    sent = {"Content-Type": "application/json", "traceparent": TRACEPARENT, "X-Request-Id": "abc"}
    status, _ = post(traced, MessageToJson(request("sklearn_network_3class", "by REST")), sent)
    assert status == 200
    return traced.spans("POST /v1/explanations")


def post(traced: Traced, body: str, headers: dict[str, str]) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", traced.server.rest_port, timeout=300)
    connection.request("POST", "/v1/explanations", body, headers)
    reply = connection.getresponse()
    found = reply.status, json.loads(reply.read())
    connection.close()
    return found


def ancestors(span: ReadableSpan, spans: Sequence[ReadableSpan]) -> list[str]:
    """The names of what is around a span, the innermost first."""
    named = {each.context.span_id: each for each in spans if each.context}
    found = []
    while span.parent is not None and span.parent.span_id in named:
        span = named[span.parent.span_id]
        found.append(span.name)
    return found


def times(span: ReadableSpan) -> tuple[int, int]:
    """Nanoseconds of the epoch."""
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time, span.end_time


def of(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    return next(span for span in spans if span.name == name)


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ("by_grpc", "onnxplain.v1.ExplanationService/Explain"),
        ("by_rest", "POST /v1/explanations"),
    ],
)
def test_a_trace_shows_all_parts_of_an_explanation_where_they_belong(
    how: str, name: str, request: pytest.FixtureRequest
) -> None:
    spans = request.getfixturevalue(how)
    expected = {
        name: [],
        "receive": [name],
        "queue": [name],
        "compute": [name],
        "decode": ["compute", name],
        "choose": ["compute", name],
        "method interactions": ["compute", name],
        "method partial_dependence": ["compute", name],
        "predict": ["method interactions", "compute", name],
        "draw": ["compute", name],
        "encode": ["compute", name],
    }
    found = {span.name: ancestors(of(spans, span.name), spans) for span in spans}
    assert {part: found.get(part) for part in expected} == expected
    # The serving process times it, so it may end after a method has begun in the worker.
    assert found["load"][-2:] == ["compute", name]
    cached = [span for span in spans if span.name in {"cache get", "cache set"}]
    assert {span.name for span in cached} == {"cache get", "cache set"}
    assert all(ancestors(span, spans)[-2:] == ["compute", name] for span in cached)


@pytest.mark.parametrize("how", ["by_grpc", "by_rest"])
def test_it_belongs_to_the_trace_of_the_caller(how: str, request: pytest.FixtureRequest) -> None:
    spans = request.getfixturevalue(how)
    assert {format(span.context.trace_id, "032x") for span in spans if span.context} == {TRACE_ID}
    (outer,) = [span for span in spans if not ancestors(span, spans)]
    assert outer.kind is SpanKind.SERVER
    assert outer.parent is not None
    assert outer.attributes is not None
    assert format(outer.parent.span_id, "016x") == PARENT_ID
    assert outer.attributes["onnxplain.request_id"] == "abc"
    assert outer.status.is_ok or outer.status.is_unset


@pytest.mark.parametrize("how", ["by_grpc", "by_rest"])
def test_parts_lie_within_the_time_of_their_request(
    how: str, request: pytest.FixtureRequest
) -> None:
    spans = request.getfixturevalue(how)
    (outer,) = [span for span in spans if not ancestors(span, spans)]
    # The clock that times parts and the one that dates requests may drift apart while it runs.
    slack = 50_000_000
    for span in spans:
        (start, end), (first, last) = times(outer), times(span)
        assert start - slack <= first <= last <= end + slack


def test_predicting_tells_rows_and_calls_and_nothing_of_the_model(
    by_grpc: Sequence[ReadableSpan],
) -> None:
    told: Any = of(by_grpc, "predict").attributes
    assert told.keys() == {"onnxplain.rows", "onnxplain.calls", "onnxplain.seconds"}
    assert told["onnxplain.rows"] > 10
    written = "".join(span.to_json() for span in by_grpc)
    assert "mean radius" not in written


def test_a_stream_is_traced_too(traced: Traced) -> None:
    traced.forget()
    with grpc.insecure_channel(f"127.0.0.1:{traced.server.grpc_port}") as channel:
        list(
            ExplanationServiceStub(channel).ExplainStream(
                ExplainStreamRequest(request=request("sklearn_network_binary"))
            )
        )
    spans = traced.spans("onnxplain.v1.ExplanationService/ExplainStream")
    assert {"queue", "compute", "method interactions"} <= {span.name for span in spans}
    assert len({span.context.trace_id for span in spans if span.context}) == 1


def test_a_refusal_is_traced_and_no_fault_of_the_server(traced: Traced) -> None:
    traced.forget()
    with (
        grpc.insecure_channel(f"127.0.0.1:{traced.server.grpc_port}") as channel,
        pytest.raises(grpc.RpcError),
    ):
        ExplanationServiceStub(channel).Explain(ExplainRequest(model=Model(content=b"none")))
    spans = traced.spans("onnxplain.v1.ExplanationService/Explain")
    outer = of(spans, "onnxplain.v1.ExplanationService/Explain")
    assert outer.attributes is not None
    assert outer.attributes["rpc.grpc.status_code"] == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert not outer.status.description
    assert of(spans, "compute").status.description == outer.attributes["onnxplain.outcome"]


def test_probes_are_not_traced(traced: Traced) -> None:
    traced.forget()
    connection = HTTPConnection("127.0.0.1", traced.server.rest_port, timeout=300)
    connection.request("GET", "/readyz")
    assert connection.getresponse().read() == b'{"ready":true}\n'
    connection.request("GET", "/version")
    connection.getresponse().read()
    connection.close()
    traced.spans("GET /version")
    assert traced.names == ["GET /version"]


def test_answers_are_examples_of_how_long_they_took(
    traced: Traced,
) -> None:
    sent = {"Content-Type": "application/json", "traceparent": TRACEPARENT}
    traced.forget()
    post(traced, MessageToJson(request("sklearn_network_binary")), sent)
    traced.spans("POST /v1/explanations")
    connection = HTTPConnection("127.0.0.1", traced.server.metrics_port, timeout=300)
    connection.request("GET", "/metrics", headers={"Accept": "application/openmetrics-text"})
    page = connection.getresponse().read().decode()
    connection.close()
    shown = [line for line in page.splitlines() if f'# {{trace_id="{TRACE_ID}"}}' in line]
    assert shown
    assert all(line.startswith("onnxplain_explain_duration_seconds_bucket") for line in shown)
