"""What the installed server tells a platform: traces to a collector, and a log for machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

import onnxplain
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.openmetrics.parser import text_string_to_metric_families

METHOD = onnxplain.PartialDependence(features=["x0"])


class Collector(ThreadingHTTPServer):
    """Takes traces as collectors do: OTLP over HTTP."""

    def __init__(self) -> None:
        self.exports: list[ExportTraceServiceRequest] = []
        super().__init__(("127.0.0.1", 0), Taking)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> Sequence[tuple[Resource, Span]]:
        """All that has come, each with who sent it."""
        return [
            (sent.resource, span)
            for export in self.exports
            for sent in export.resource_spans
            for scope in sent.scope_spans
            for span in scope.spans
        ]


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/traces"
        self.server.exports.append(ExportTraceServiceRequest.FromString(content))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def ended(
    serve: Callable[..., Any],
    collector: Collector,
    network: bytes,
    rows: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
):
    """A server that has answered one request, refused another, and ended."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    server = serve(log_format="json")
    few = {name: values[:50] for name, values in rows.items()}
    with onnxplain.connect(server.endpoint) as client:
        client.explain(network, few, METHOD, row_count=10, feature_columns=list(rows))
        with pytest.raises(onnxplain.ExplainError):
            client.explain(b"secret model", few, METHOD)
    server.process.terminate()
    server.process.wait(600)
    return server


@pytest.mark.slow
def test_traces_reach_the_collector_and_every_line_of_the_log_is_json(
    ended, collector: Collector
) -> None:
    check_traces(collector)
    lines = [json.loads(line) for line in ended.log]
    check_access_log(lines, {span.trace_id.hex() for _, span in collector.spans()})
    assert "secret" not in "".join(ended.log)


@pytest.mark.slow
def test_the_histogram_of_answers_leads_to_a_trace(
    serve: Callable[..., Any],
    collector: Collector,
    network: bytes,
    rows: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    server = serve()
    few = {name: values[:50] for name, values in rows.items()}
    with onnxplain.connect(server.endpoint) as client:
        client.explain(network, few, METHOD, row_count=10, feature_columns=list(rows))

    traces = exemplars(server.metrics_port, "onnxplain_explain_duration_seconds")
    server.process.terminate()
    server.process.wait(600)

    assert len(traces) == 1
    assert traces == {span.trace_id.hex() for _, span in collector.spans()}


def exemplars(port: int, histogram: str) -> set[str]:
    """Return the traces that a histogram names, as a scraper of OpenMetrics reads them."""
    request = Request(
        f"http://127.0.0.1:{port}/metrics", headers={"Accept": "application/openmetrics-text"}
    )
    with urlopen(request, timeout=120) as reply:  # noqa: S310 - our own
        families = text_string_to_metric_families(reply.read().decode())
    return {
        sample.exemplar.labels["trace_id"]
        for family in families
        if family.name == histogram
        for sample in family.samples
        if sample.exemplar
    }


def check_traces(collector: Collector) -> None:
    (resource,) = {sent.SerializeToString(): sent for sent, _ in collector.spans()}.values()
    told = {each.key: each.value.string_value for each in resource.attributes}
    assert told["service.name"] == "onnxplain"
    assert told["deployment.environment.name"] == "test"
    names = {span.name for _, span in collector.spans()}
    assert {"queue", "compute", "load", "method partial_dependence", "predict"} <= names


def check_access_log(lines: Sequence[Mapping[str, Any]], traces: set[str]) -> None:
    (answered,) = [line for line in lines if line.get("outcome") == "OK"]
    (refused,) = [line for line in lines if line.get("outcome") == "INVALID_MODEL"]
    for line in (answered, refused):
        assert line["method"] == "Explain"
        assert line["level"] == "info"
        assert line["caller"]
        assert line["ms"] > 0
        assert len(line["span_id"]) == 16
    assert {answered["trace_id"], refused["trace_id"]} == traces
    assert answered["request_id"] != refused["request_id"]


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER: must be one of otlp, console"),
        ({"ONNXPLAIN_CONFIG_FILE": "/nowhere.toml"}, "/nowhere.toml: No such file"),
    ],
)
def test_a_bad_setting_ends_the_start_with_one_line(
    variables: Mapping[str, str], told: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "onnxplain_server", "serve"],
        env={**os.environ, "PYTHONPATH": "", **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert told in line
    assert line.endswith("(INVALID_SETTING)")
