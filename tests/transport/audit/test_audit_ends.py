"""Explanations that end before, beside or without their computation have a line too."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainStreamRequest
from onnxplain_server.transport.rest.request_timeout import TIMEOUT

PATIENCE = 120.0


def outcomes(log, count: int) -> list[str]:
    return sorted(line["outcome"] for line in log.lines(count))


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    path = tmp_path / "tokens"
    path.write_text(f"ada {hashlib.sha256(b'word').hexdigest()}\n")
    return str(path)


def test_callers_without_a_token_and_with_one(audited, make_runner, log, tokens: str) -> None:
    client = audited(make_runner(), tokens_file=tokens)
    for call in (
        lambda: client.stub.Explain(ExplainRequest()),
        lambda: list(client.stub.ExplainStream(ExplainStreamRequest())),
    ):
        with pytest.raises(grpc.RpcError):
            call()
    assert client.post({}).status == 401
    client.stub.Explain(ExplainRequest(), metadata=[("authorization", "Bearer word")])
    lines = log.lines(4)

    assert sorted((line["caller"], line["outcome"]) for line in lines) == [
        *(3 * [("-", "UNAUTHENTICATED")]),
        ("token:ada", "OK"),
    ]
    assert "word" not in log.text()


def test_requests_that_cannot_be_read(audited, make_runner, log) -> None:
    client = audited(make_runner(), max_message_bytes=2**16)
    explain = client.channel.unary_unary("/onnxplain.v1.ExplanationService/Explain")
    with pytest.raises(grpc.RpcError):
        explain(b"\xff")
    assert client.post("{").status == 400
    assert client.rest("POST", "/v1/explanations", b"a", {"Content-Type": "a/b"}).status == 415
    assert client.post("x" * 2**17).status == 413

    assert outcomes(log, 4) == [
        "INVALID_REQUEST",
        "INVALID_REQUEST",
        "REQUEST_TOO_LARGE",
        "UNSUPPORTED_MEDIA_TYPE",
    ]


def test_overload_and_deadlines(audited, make_runner, endless, log) -> None:
    runner = make_runner(endless)
    client = audited(runner, running_count=1, waiting_count=1, extra_count=0)
    running = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=PATIENCE)
    assert client.post({}, **{TIMEOUT: "200"}).status == 504
    assert outcomes(log, 1) == ["DEADLINE_EXCEEDED"]
    second = client.stub.Explain.future(ExplainRequest())
    while client.server._scheduler.counts().waiting_count < 1:
        pass
    with pytest.raises(grpc.RpcError):
        client.stub.Explain(ExplainRequest())
    assert outcomes(log, 2) == ["DEADLINE_EXCEEDED", "OVERLOADED"]
    for call in (running, second):
        call.cancel()

    assert outcomes(log, 4) == ["CANCELLED", "CANCELLED", "DEADLINE_EXCEEDED", "OVERLOADED"]


def test_a_stream_whose_reader_leaves_is_cancelled(audited, make_runner, endless, log) -> None:
    client = audited(make_runner(endless))
    stream = client.stub.ExplainStream(ExplainStreamRequest(request=ExplainRequest()))
    next(stream)
    stream.cancel()
    assert outcomes(log, 1) == ["CANCELLED"]

    with client.connect() as connection:
        body = json.dumps({})
        connection.sendall(
            "POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        assert b"200" in connection.recv(2**16)

    assert outcomes(log, 2) == ["CANCELLED", "CANCELLED"]


def test_a_server_that_stops_writes_the_lines_of_what_it_ends(
    audited, make_runner, endless, log
) -> None:
    runner = make_runner(endless)
    client = audited(runner)
    call = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=PATIENCE)
    client.server.drain(0)

    assert outcomes(log, 1) == ["UNAVAILABLE"]
    with pytest.raises(grpc.RpcError):
        call.result()
