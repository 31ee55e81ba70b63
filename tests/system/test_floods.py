"""Requests larger than the server takes: refused as a whole, and held by nothing."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.upload_pb2 import UploadModelRequest

pytestmark = pytest.mark.slow

LIMIT = 2**20
SENT = 300 * 2**20
ANNOUNCED = 2_200_000_000
PIECE = bytes(2**18)


def peak(server) -> int:
    """The most memory that the server's process has held so far, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.fixture
def server(serve: Callable[..., Any]) -> Iterator[Any]:
    """A server that takes little; afterwards it has grown by little, and still serves."""
    made = serve(max_message_bytes=LIMIT, max_model_bytes=LIMIT)
    before = peak(made)
    yield made
    assert peak(made) - before < LIMIT + 64 * 2**20
    with urlopen(f"{made.url}/readyz") as reply:  # noqa: S310 - our own server
        assert reply.status == 200


def flood(server, head: str, piece: bytes) -> bytes:
    """Send a body for as long as the server takes it; return the reply."""
    with socket.create_connection(("127.0.0.1", server.rest_port)) as connection:
        start = "POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\n"
        connection.sendall(f"{start}Content-Type: application/json\r\n{head}\r\n\r\n".encode())
        with suppress(OSError):
            for _ in range(SENT // len(piece)):
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(2**16), b""))


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (f"Content-Length: {ANNOUNCED}", PIECE),
        ("Transfer-Encoding: chunked", b"%x\r\n%b\r\n" % (len(PIECE), PIECE)),
    ],
    ids=["announced", "in chunks"],
)
def test_a_body_of_300_times_the_limit_is_refused_whole(server, head: str, piece: bytes) -> None:
    reply = flood(server, head, piece)

    assert reply.startswith(b"HTTP/1.1 413 ")
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["reason"] == "REQUEST_TOO_LARGE"


def test_a_message_over_the_limit_is_refused_over_grpc(server) -> None:
    request = DescribeModelRequest(model=Model(content=bytes(64 * LIMIT)))
    with (
        grpc.insecure_channel(server.endpoint) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        ExplanationServiceStub(channel).DescribeModel(request)

    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_an_upload_without_end_is_refused_at_the_limit(server) -> None:
    sent = iter(range(ANNOUNCED // len(PIECE)))
    parts = (UploadModelRequest(content=PIECE) for _ in sent)
    with (
        grpc.insecure_channel(server.endpoint) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        ExplanationServiceStub(channel).UploadModel(parts)

    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert next(sent, None) is not None
