"""One line of the audit log per explanation, whatever ends it."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    MethodOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup, PartialDependenceOptions
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import Reply, ServiceMethod, Work
from onnxplain_server.telemetry.spans import current
from onnxplain_server.transport.audit.audit_line import FIELDS
from onnxplain_server.wire.blobs import identify
from onnxplain_server.wire.reply import encode

PATIENCE = 120.0
ORDINARY = [MethodOptions(interactions=InteractionsOptions())]
COLUMN = "a-name-of-a-column"

KINDS: Mapping[str, Any] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int and value >= 0,
    "number": lambda value: isinstance(value, int | float) and 0 <= value < math.inf,
    "number or null": lambda value: value is None or 0 <= value <= 1,
    "array of strings": lambda value: all(isinstance(item, str) for item in value),
}


def assert_valid(line: Mapping[str, Any]) -> None:
    """Fields of the table, in its order and of its types; only optional ones may be missing."""
    assert list(line) == [field.name for field in FIELDS if field.name in line]
    for field in FIELDS:
        if field.name not in line:
            assert field.is_optional, field.name
        else:
            assert KINDS[field.kind](line[field.name]), (field.name, line[field.name])
    assert abs(datetime.fromisoformat(line["time"]) - datetime.now(UTC)) < timedelta(hours=1)
    assert line["outcome"] in {"OK", *(reason.name for reason in Reason)} or re.fullmatch(
        "[A-Z_]+", line["outcome"]
    )


class Telling:
    """A runner that ends as the seed of the request says, and tells of its work."""

    def answer(self, call: Call, host) -> Reply:
        if call.method is ServiceMethod.DESCRIBE:
            return encode(ExplainResponse(), call.reply_format, math.inf)
        seed = ExplainRequest.FromString(call.request).seed
        host.count_processor(0.25)
        host.advance(0, 100)
        host.advance(40, 100)
        if seed < len(Reason):
            raise ExplainError(list(Reason)[seed], "refused")
        if seed == len(Reason):
            raise RuntimeError(COLUMN)
        work = Work(("interactions",), 50, 70.0, 3, 1)
        return encode(ExplainResponse(), call.reply_format, math.inf, work)


def ask(client, surface: str, request: ExplainRequest) -> None:
    """Ask once, and take whatever comes."""
    document = {"seed": request.seed, "methods": [{"interactions": {}}]}
    try:
        match surface:
            case "unary":
                client.stub.Explain(request)
            case "stream":
                list(client.stub.ExplainStream(ExplainStreamRequest(request=request)))
            case "rest":
                client.post(document)
            case "events":
                client.post(document, accept="text/event-stream")
    except grpc.RpcError:
        pass


OUTCOMES = [*(reason.name for reason in Reason), Reason.INTERNAL.name, "OK"]
"""By seed."""

REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["unary", "stream", "rest", "events"]),
        st.integers(0, len(OUTCOMES) - 1),
    ),
    min_size=1,
    max_size=12,
)


def test_n_requests_of_all_outcomes_make_n_lines_each_valid(audited, log) -> None:
    client = audited(Telling())

    @settings(
        max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(REQUESTS)
    def check(requests: Sequence[tuple[str, int]]) -> None:
        before = log.text().count("\n")
        for surface, seed in requests:
            ask(client, surface, ExplainRequest(seed=seed, methods=ORDINARY))

        lines = log.lines(before + len(requests))[before:]

        assert len(lines) == len(requests)
        for line in lines:
            assert_valid(line)
        told = sorted((line["transport"], line["outcome"]) for line in lines)
        assert told == sorted(
            ("grpc" if surface in {"unary", "stream"} else "rest", OUTCOMES[seed])
            for surface, seed in requests
        )

    check()


def test_every_reason_of_errors_is_an_outcome_on_every_surface(audited, log) -> None:
    client = audited(Telling())
    surfaces = ["unary", "stream", "rest", "events"]
    for seed in range(len(OUTCOMES)):
        for surface in surfaces:
            ask(client, surface, ExplainRequest(seed=seed, methods=ORDINARY))

    lines = log.lines(len(OUTCOMES) * len(surfaces))

    assert sorted(line["outcome"] for line in lines) == sorted(OUTCOMES * len(surfaces))


def test_a_line_tells_what_was_asked_and_what_it_cost(audited, log) -> None:
    client = audited(Telling())
    request = ExplainRequest(
        seed=len(OUTCOMES) - 1,
        model=Model(content=b"a model"),
        table=Table(csv=f"{COLUMN}\n12345.5\n".encode()),
        methods=[
            MethodOptions(
                partial_dependence=PartialDependenceOptions(features=[FeatureGroup(names=[COLUMN])])
            ),
            *ORDINARY,
        ],
    )
    trace = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    client.stub.Explain(request, metadata=[("x-request-id", "mine"), trace])
    (line,) = log.lines(1)

    assert line["model"] == identify(b"a model")
    assert line["table"] == identify(request.table.csv)
    assert line["methods"] == ["interactions", "partial_dependence"]
    assert (line["row_count"], line["predicted_row_count"]) == (50, 70)
    assert line["processor_seconds"] == 0.25
    assert line["cached_share"] == 0.75
    assert line["received_byte_count"] == request.ByteSize()
    assert line["sent_byte_count"] == len(ExplainResponse().SerializeToString())
    assert (line["caller"], line["transport"], line["outcome"]) == ("anonymous", "grpc", "OK")
    assert line["request_id"] == "mine"
    assert "operation" not in line
    assert COLUMN not in log.text()
    assert "12345" not in log.text()


def test_a_line_of_rest_tells_the_same(audited, log) -> None:
    client = audited(Telling())
    document = {
        "seed": len(OUTCOMES) - 1,
        "model": {"content": base64.b64encode(b"a model").decode()},
        "methods": [{"interactions": {}}],
    }
    reply = client.post(document)
    (line,) = log.lines(1)

    assert line["model"] == identify(b"a model")
    assert line["table"] == ""
    assert line["methods"] == ["interactions"]
    assert line["received_byte_count"] == len(json.dumps(document))
    assert line["sent_byte_count"] == len(reply.body)
    assert line["outcome"] == "OK"


def test_the_line_of_a_failure_has_the_rows_of_its_spans_or_of_its_progress(
    audited, make_runner, log
) -> None:
    def work(host) -> None:
        host.advance(40, 100)
        if runner.requests[-1].seed:
            current().count("predict", 0.0, 33)
        raise ExplainError(Reason.DEADLINE_EXCEEDED, "late")

    runner = make_runner(work)
    client = audited(runner)
    for seed in (0, 1):
        ask(client, "unary", ExplainRequest(seed=seed, methods=ORDINARY))
    lines = log.lines(2)

    assert [line["predicted_row_count"] for line in lines] == [40, 33]
    assert [line["cached_share"] for line in lines] == [None, None]
    assert lines[0]["methods"] == ["interactions"]


def test_other_requests_write_no_line(audited, log) -> None:
    client = audited(Telling())
    client.stub.DescribeModel(DescribeModelRequest(model=Model(content=b"a model")))
    client.rest("GET", "/v1/explanations")
    client.rest("GET", "/readyz")
    client.rest("PUT", "/v1/models", b"abc", {"Content-Type": "application/octet-stream"})
    client.stub.Explain(ExplainRequest(seed=len(OUTCOMES) - 1))

    assert len(log.lines(1)) == 1


def test_without_the_setting_nothing_is_written(start, capfd: pytest.CaptureFixture[str]) -> None:
    client = start(Telling())
    client.stub.Explain(ExplainRequest(seed=len(OUTCOMES) - 1))

    assert capfd.readouterr().out == ""


def test_lines_may_go_to_standard_output(start, capfd: pytest.CaptureFixture[str]) -> None:
    client = start(Telling(), audit_log="stdout")
    client.stub.Explain(ExplainRequest(seed=len(OUTCOMES) - 1))

    (line,) = capfd.readouterr().out.splitlines()
    assert_valid(json.loads(line))
