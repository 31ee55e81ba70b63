"""Calls of Client, against a fake server."""

import threading
from collections.abc import Callable
from typing import Any

import grpc
import numpy as np
import onnxplain
import pytest
from grpc_health.v1 import health_pb2
from onnxplain.transport.rpcs import DESCRIBE
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainResponse,
    ExplainStreamResponse,
)

Call = Callable[[onnxplain.Client], Any]
ROWS = {"age": [20.0, 30.0]}


def explain(client: onnxplain.Client, **more) -> onnxplain.Explanations:
    return client.explain(b"model", ROWS, onnxplain.Interactions(), **more)


def test_explain_sends_the_request_and_reads_the_answer(
    client: onnxplain.Client, server, answer: ExplainResponse
) -> None:
    found = explain(client, target_column="y")

    assert found.message == answer
    (request,) = server.service.requests
    assert request.model.content == b"model"
    assert request.target_column == "y"
    assert [m.WhichOneof("method") for m in request.methods] == ["interactions"]


def test_progress_is_told_on_the_way(client: onnxplain.Client, answer: ExplainResponse) -> None:
    steps: list[tuple[float, float]] = []

    found = explain(client, progress=lambda done, planned: steps.append((done, planned)))

    assert found.message == answer
    assert steps == [(0, 100), (50, 100), (100, 100)]


def test_a_stream_gives_progress_and_the_explanations_last(
    client: onnxplain.Client, answer: ExplainResponse
) -> None:
    *progress, last = client.explain_stream(b"model", ROWS, onnxplain.Interactions(), seed=3)

    assert progress == [onnxplain.Progress(done, 100) for done in (0, 50, 100)]
    assert isinstance(last, onnxplain.Explanations)
    assert last.message == answer


def test_leaving_a_stream_early_cancels_the_computation(
    client: onnxplain.Client, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def endless(request, context):
        context.add_callback(ended.set)
        while context.is_active():
            yield ExplainStreamResponse(progress={"done": 0, "planned": 1})

    monkeypatch.setattr(server.service, "events", endless)
    events = client.explain_stream(b"model", ROWS, onnxplain.Interactions())
    next(events)
    events.close()

    assert ended.wait(120)


def test_describe_reads_the_model(client: onnxplain.Client) -> None:
    found = client.describe(b"model")

    assert found.inputs == (onnxplain.ModelInput("X", "float", 2),)
    assert found.scales == ("RESPONSE",)
    assert found.producer == "skl2onnx"


def test_health_is_the_servers_own_verdict(client: onnxplain.Client, server) -> None:
    assert client.health() == "SERVING"
    server.health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    assert client.health() == "NOT_SERVING"


def test_the_timeout_of_a_call_goes_before_that_of_the_client(
    client: onnxplain.Client, server
) -> None:
    """That of the client is 120 seconds; gRPC rounds up on the wire."""
    explain(client)
    assert 0 < server.service.seconds < 130
    explain(client, timeout=9_000)
    assert 1_000 < server.service.seconds < 9_900


def test_an_answer_beyond_grpcs_own_limit_of_4_mebibytes_arrives(
    client: onnxplain.Client, answer: ExplainResponse
) -> None:
    answer.explanations[0].plots[0].vega_lite = "x" * (5 * 2**20)
    assert explain(client).message == answer


def test_an_answer_over_the_limit_is_an_error_of_ours(server, answer: ExplainResponse) -> None:
    answer.explanations[0].plots[0].vega_lite = "x" * 10_000
    with (
        onnxplain.connect(server.endpoint, message_limit=5_000) as client,
        pytest.raises(onnxplain.ExplainError) as caught,
    ):
        explain(client)
    assert caught.value.code == "RESOURCE_EXHAUSTED"


CALLS = [
    pytest.param(explain, id="explain"),
    pytest.param(lambda client: explain(client, progress=print), id="with progress"),
    pytest.param(lambda client: list(client.explain_stream(b"", ROWS)), id="stream"),
    pytest.param(lambda client: client.describe(b""), id="describe"),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_refusal_tells_reason_message_field_and_code(
    call: Call, client: onnxplain.Client, server, refusals
) -> None:
    server.service.refuse = refusals.unknown_feature

    with pytest.raises(onnxplain.ExplainError) as caught:
        call(client)

    error = caught.value
    assert error.reason == "UNKNOWN_FEATURE"
    assert error.message == "no feature is named 'agee'"
    assert error.field == "methods[0].interactions.features"
    assert error.code == "INVALID_ARGUMENT"
    assert str(error) == (
        "methods[0].interactions.features: no feature is named 'agee' (UNKNOWN_FEATURE)"
    )


@pytest.mark.parametrize("call", [*CALLS, pytest.param(lambda c: c.health(), id="health")])
def test_a_server_that_is_not_there_is_the_same_error(
    call: Call,
) -> None:
    with (
        onnxplain.connect("127.0.0.1:1", retry_count=0) as client,
        pytest.raises(onnxplain.ExplainError, match=r"no answer from 127.0.0.1:1: .* listens"),
    ):
        call(client)


def test_an_error_without_details_has_its_code_for_a_reason(
    client: onnxplain.Client, server, refusals
) -> None:
    server.service.refuse = lambda: refusals.refusal(grpc.StatusCode.UNIMPLEMENTED, "not here")

    with pytest.raises(onnxplain.ExplainError) as caught:
        explain(client)

    assert (caught.value.reason, caught.value.message) == ("UNIMPLEMENTED", "not here")


def test_a_call_that_takes_too_long_ends(
    client: onnxplain.Client, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def slow(_request, context) -> None:
        context.add_callback(ended.set)
        ended.wait(120)

    monkeypatch.setattr(server.service, "_take", slow)

    with pytest.raises(onnxplain.ExplainError) as caught:
        explain(client, timeout=0.2)
    assert caught.value.reason == "DEADLINE_EXCEEDED"


def test_the_messages_can_be_sent_as_they_are(
    client: onnxplain.Client, answer: ExplainResponse
) -> None:
    found = client.messages.answer(DESCRIBE, DescribeModelRequest())
    assert found.model == answer.model


def test_the_receipt_and_the_warnings_come_with_the_answer(client: onnxplain.Client) -> None:
    found = explain(client)

    assert found.receipt.engine == "BLACK_BOX"
    assert found.receipt.predicted_row_count == 56
    assert found.receipt.elapsed.total_seconds() == 2
    assert [(w.code, w.message) for w in found.warnings] == [("LABELS_ONLY", "only labels")]
    assert found.model.output_names == ("low", "high")
    assert np.array_equal(found.interactions.mean_squares, [4, 8])
