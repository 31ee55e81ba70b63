"""Connections that are slow, idle or broken: nobody else notices them."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.request import urlopen

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from tools.waiting import until

PATIENCE = 120.0
SLOW_COUNT, IDLE_COUNT, PROBE_COUNT = 500, 3_000, 30
IDLE_SECONDS = 15.0
HEADERS = b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = (
    b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{"
)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS_FRAME, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
MAX_CONCURRENT_STREAMS = 3
ENHANCE_YOUR_CALM = 11


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def frames(connection: socket.socket) -> Iterator[tuple[int, bytes]]:
    """Kind and payload of what the server sends, until it closes."""
    received = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(2**16):
            received += chunk
            while len(received) >= 9:
                end = 9 + int.from_bytes(received[:3], "big")
                if len(received) < end:
                    break
                yield received[3], received[9:end]
                received = received[end:]


def files(server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def is_healthy(server) -> bool:
    with urlopen(f"{server.url}/readyz", timeout=PATIENCE) as reply:  # noqa: S310 - our own server
        by_rest = reply.status == 200
    with grpc.insecure_channel(server.endpoint) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        found = stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
    return bool(by_rest and found.status == found.SERVING)


@pytest.fixture(scope="module")
def server(lasting_server):
    """One for all, since each has to outlive what comes."""
    return lasting_server


@pytest.fixture
def connect(server) -> Iterator[Callable[[int], socket.socket]]:
    """Open connections, closed in the end; the server has outlived them."""
    with ExitStack() as opened:

        def make(port: int) -> socket.socket:
            made = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            return opened.enter_context(made)

        yield make
    assert server.process.poll() is None
    assert is_healthy(server)


@pytest.mark.parametrize("begin", [HEADERS, BODY], ids=["headers", "bodies"])
def test_five_hundred_slow_requests_over_rest_keep_nobody_out(
    server, connect, begin: bytes
) -> None:
    for _ in range(SLOW_COUNT):
        connect(server.rest_port).sendall(begin)

    assert all(is_healthy(server) for _ in range(PROBE_COUNT))


@pytest.mark.parametrize("begin", [HEADERS, BODY], ids=["headers", "bodies"])
def test_a_connection_over_rest_is_kept_that_came_after_five_hundred_that_send_before_it(
    server, connect, begin: bytes
) -> None:
    for _ in range(20):  # until this machine takes less time than a connection may idle
        slow = [connect(server.rest_port) for _ in range(SLOW_COUNT)]
        start, answer = time.monotonic(), b""
        late = connect(server.rest_port)
        for connection in slow:
            # Some are closed already, to make room.
            with suppress(ConnectionError):
                connection.sendall(begin)
        assert is_healthy(server)

        with suppress(ConnectionError):
            late.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = late.recv(2**16)
        if answer or time.monotonic() - start < IDLE_SECONDS:
            break

    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("begin", [b"", PREFACE[:10], PREFACE], ids=["nothing", "half", "preface"])
def test_five_hundred_half_open_connections_over_grpc_keep_nobody_out(
    server, connect, begin: bytes
) -> None:
    for _ in range(SLOW_COUNT):
        connect(server.grpc_port).sendall(begin)

    assert is_healthy(server)


@pytest.mark.slow
def test_idle_connections_cost_no_memory_and_are_closed(server, connect) -> None:
    before, memory = files(server), server.memory("VmRSS")
    for number in range(IDLE_COUNT):
        connect((server.rest_port, server.grpc_port)[number % 2])
    assert is_healthy(server)

    assert server.memory("VmRSS") - memory < IDLE_COUNT * 2**16
    until(lambda: files(server) <= before + 20)


class Withheld:
    """Messages that do not come before the end."""

    def __init__(self) -> None:
        self.end = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self.end.wait(PATIENCE)
        raise StopIteration


def test_calls_whose_message_does_not_come_keep_nobody_waiting(server) -> None:
    """They hold the places of their caller; whoever has none left is refused at once."""
    withheld = Withheld()
    with grpc.insecure_channel(server.endpoint) as channel:
        # On the wire no other than a call of this method whose message is late.
        call = channel.stream_unary("/onnxplain.v1.ExplanationService/DescribeModel")
        calls = [call.future(withheld, timeout=PATIENCE) for _ in range(60)]
        assert is_healthy(server)
        until(lambda: sum(each.done() for each in calls) >= 30)
        refused = [each.code() for each in calls if each.done()]
        with pytest.raises(grpc.RpcError) as told:
            ExplanationServiceStub(channel).DescribeModel(DescribeModelRequest(), timeout=PATIENCE)
        withheld.end.set()
        for each in calls:
            each.cancel()

    assert set(refused) == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_the_streams_of_a_connection_are_limited(server, connect) -> None:
    """To all that the server takes at a time, and 200."""
    connection = connect(server.grpc_port)
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))

    told = next(payload for kind, payload in frames(connection) if kind == SETTINGS)

    limit = dict(struct.iter_unpack(">HI", told))[MAX_CONCURRENT_STREAMS]
    assert 200 < limit < 300


def test_metadata_beyond_the_limit_are_refused(server, connect) -> None:
    with (
        grpc.insecure_channel(server.endpoint) as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        ExplanationServiceStub(channel).DescribeModel(
            DescribeModelRequest(), metadata=[("x-large", "a" * 2**17)], timeout=PATIENCE
        )

    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    with connect(server.rest_port) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nX-Large: " + b"a" * 2**17 + b"\r\n\r\n")
        assert connection.recv(2**16).split()[1] == b"431"


MALFORMED = {
    "no preface": b"GET / HTTP/1.1\r\n\r\n",
    "noise": bytes(range(256)) * 64,
    "data before any stream": PREFACE + frame(SETTINGS, 0, 0, b"") + frame(DATA, 0, 1, b"a" * 9),
    "settings of a wrong length": PREFACE + frame(SETTINGS, 0, 0, b"abc"),
    "settings on a stream": PREFACE + frame(SETTINGS, 0, 1, b""),
    "ping of a wrong length": PREFACE + frame(SETTINGS, 0, 0, b"") + frame(PING, 0, 0, b"abc"),
    "headers that are none": PREFACE
    + frame(SETTINGS, 0, 0, b"")
    + frame(HEADERS_FRAME, 4, 1, b"\xff" * 64),
    "headers on an even stream": PREFACE
    + frame(SETTINGS, 0, 0, b"")
    + frame(HEADERS_FRAME, 4, 2, b"\x82"),
    "a frame of 16 MiB": PREFACE
    + frame(SETTINGS, 0, 0, b"")
    + b"\xff\xff\xff"
    + struct.pack(">BBI", DATA, 0, 1),
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
def test_malformed_frames_end_the_connection_and_not_the_server(
    server, connect, sent: bytes
) -> None:
    connection = connect(server.grpc_port)
    # The server may have closed before all is sent; then there is nothing left to shut down.
    with suppress(OSError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)

    # Ends when the server has closed; none of it was taken for a call.
    list(frames(connection))
