"""Refusals before the body is read, and before a ticket is taken."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.upload_pb2 import UploadModelRequest

HEAD = "PUT /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"

PATIENCE = 120.0


@pytest.fixture
def client(start, make_runner, tokens):
    return start(make_runner(), tokens_file=tokens.write("ann"), running_count=1, waiting_count=0)


def first_answer(client, head: str) -> bytes:
    """Send headers only, and return what comes before the server falls silent or closes."""
    with client.connect() as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(head.encode())
        answer = b""
        while b"\r\n\r\n" not in answer and (part := connection.recv(4096)):
            answer += part
        return answer


@pytest.mark.parametrize("token", ["", "Authorization: Bearer wrong\r\n", "Authorization: a\r\n"])
@pytest.mark.parametrize("length", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("wait", ["", "Expect: 100-continue\r\n"])
def test_a_body_over_rest_is_not_waited_for(client, token: str, length: str, wait: str) -> None:
    answer = first_answer(client, f"{HEAD}{token}{wait}{length}\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b'bearer realm="onnxplain"' in answer.lower()
    assert (b"invalid_token" in answer) is bool(token)


def test_a_body_of_a_known_caller_is_asked_for(client, tokens) -> None:
    good = f"Authorization: Bearer {tokens.of('ann')}\r\n"

    answer = first_answer(client, f"{HEAD}{good}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n")


def test_a_refusal_before_the_body_is_like_one_after_it(client) -> None:
    before = client.rest("PUT", "/v1/models", b"model").json
    after = client.rest("PUT", "/v1/models").json

    for answer in (before, after):
        del answer["request_id"]
    assert before == after
    assert before["reason"] == "UNAUTHENTICATED"


def test_a_refused_client_that_goes_on_sending_reads_its_refusal(client) -> None:
    answer = client.rest("PUT", "/v1/models", bytes(5_000_000))

    assert answer.status == 401


def test_a_request_within_a_refused_body_is_not_answered(client, tokens) -> None:
    hidden = f"GET /version HTTP/1.1\r\nAuthorization: Bearer {tokens.of('ann')}\r\n\r\n"
    with client.connect() as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(f"{HEAD}Content-Length: {len(hidden)}\r\n\r\n{hidden}".encode())
        answer = b""
        while part := connection.recv(4096):
            answer += part

    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 401")


def test_a_message_over_grpc_is_not_waited_for(client) -> None:
    never = threading.Event()

    def silent() -> Iterator[UploadModelRequest]:
        never.wait(2 * PATIENCE)
        yield UploadModelRequest()

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.UploadModel(silent(), timeout=PATIENCE)

    never.set()
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_the_only_message_over_grpc_is_not_waited_for_either(client) -> None:
    """A unary call whose caller sends nothing: grpc's own way would wait for the message."""
    never = threading.Event()
    call = client.channel.stream_unary("/onnxplain.v1.ExplanationService/Explain")

    with pytest.raises(grpc.RpcError) as caught:
        call((never.wait(2 * PATIENCE) and b"" for _ in range(1)), timeout=PATIENCE)

    never.set()
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_a_large_message_over_grpc_is_refused_for_its_sender_not_its_size(client) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest(model=Model(content=bytes(60_000_000))))

    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_an_unknown_caller_takes_no_place(start, make_runner, tokens, endless) -> None:
    runner = make_runner(endless)
    client = start(runner, tokens_file=tokens.write("ann"), running_count=1, waiting_count=0)
    good = [("authorization", f"Bearer {tokens.of('ann')}")]
    running = client.stub.Explain.future(ExplainRequest(), metadata=good)
    assert runner.started.acquire(timeout=PATIENCE)

    with pytest.raises(grpc.RpcError) as known:
        client.stub.Explain(ExplainRequest(), metadata=good)
    with pytest.raises(grpc.RpcError) as unknown:
        client.stub.Explain(ExplainRequest())

    assert known.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert unknown.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert client.post({}).status == 401
    running.cancel()


def test_a_call_without_its_message_is_the_callers_fault(client, tokens) -> None:
    good = [("authorization", f"Bearer {tokens.of('ann')}")]
    call = client.channel.stream_unary("/onnxplain.v1.ExplanationService/Explain")

    with pytest.raises(grpc.RpcError) as caught:
        call(iter([]), metadata=good)

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
