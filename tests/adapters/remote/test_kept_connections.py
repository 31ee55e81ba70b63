"""Connections to servers of models are kept for later requests, and broken ones are no error."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
import pytest
from onnxplain_server.adapters.remote.calls import http_connections, kept_connections
from onnxplain_server.adapters.remote.calls.call_watch import WatchedCall
from onnxplain_server.adapters.remote.calls.kept_connections import KeptConnections
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress, RemotePredictions
from onnxplain_server.wire.inference.inference_pb2 import (
    ModelInferResponse,
    ModelMetadataResponse,
)

from tools.ports import free_port

ROW = {"x": np.array([[1.5, -2.0]])}
BODY = b'{"predictions": [7.0]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@dataclass
class Connections:
    """Server of HTTP that ends each connection after some answers: at once, or at the next call.

    Attributes
    ----------
    made : int
        Connections so far.
    ended : Semaphore
        Released for each that was ended.
    """

    answer_count: int = 1_000
    ends_at_call: bool = False
    made: int = 0
    call_count: int = 0
    ended: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def serve(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.made += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file:
            for _ in range(self.answer_count):
                if not self._read(file):
                    return
                self.call_count += 1
                connection.sendall(ANSWER)
            if self.ends_at_call:
                self._read(file)
        self.ended.release()

    def _read(self, file: Any) -> bytes:
        size, line = 0, b"-"
        while line.strip():
            line = file.readline()
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        return bytes(file.read(size))


@contextmanager
def serving(connections: Connections) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=connections.serve, args=(listening,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


Open = Callable[..., RemotePredictions]


@pytest.fixture
def opened(control: Any) -> Open:
    """Opens a model for a request, whose policy shares connections."""

    def open_(uri: str, shared_by: str = "prefix", **policy: Any) -> RemotePredictions:
        address = RemoteAddress("KSERVE_V1", uri, "m", inputs=(Input("x", "double", 2),))
        return open_remote(address, RemotePolicy(shared_by=shared_by, **policy), control)

    return open_


def test_requests_share_connections(opened: Open) -> None:
    server = Connections()
    with serving(server) as uri:
        for _ in range(3):
            assert opened(uri).predict(ROW).tolist() == [[7.0]]

    assert (server.made, server.call_count) == (1, 3)


@pytest.mark.parametrize("others", [("other", "another"), ("", "")])
def test_other_prefixes_have_connections_of_their_own(
    opened: Open, others: tuple[str, str]
) -> None:
    """Their addresses are others: each is asked before it is connected to."""
    server, asked = Connections(), []

    def resolve(host: str, port: int) -> str:
        asked.append(host)
        return host

    with serving(server) as uri:
        for shared_by in ("prefix", *others):
            opened(uri, shared_by, resolve=resolve).predict(ROW)

    assert server.made == len(asked) == 3


def test_a_connection_that_its_server_has_ended_is_made_anew(opened: Open) -> None:
    server = Connections(answer_count=1)
    with serving(server) as uri:
        for _ in range(3):
            opened(uri).predict(ROW)
            assert server.ended.acquire(timeout=60)
            time.sleep(0.01)  # the end travels

    assert server.made == 3


def test_a_connection_that_breaks_under_a_call_is_no_error(opened: Open) -> None:
    server, retries = Connections(answer_count=1, ends_at_call=True), []
    with serving(server) as uri:
        for _ in range(3):
            answer = opened(uri, count_retry=lambda: retries.append(1)).predict(ROW)
            assert answer.tolist() == [[7.0]]

    assert (server.made, server.call_count, len(retries)) == (3, 3, 2)


def test_a_connection_without_calls_for_long_is_made_anew(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Connections()
    with serving(server) as uri:
        opened(uri).predict(ROW)
        monkeypatch.setattr(http_connections, "IDLE_SECONDS", -1.0)
        opened(uri).predict(ROW)

    assert (server.made, server.call_count) == (2, 2)


def test_connections_of_all_requests_are_no_more_than_calls_at_a_time(opened: Open) -> None:
    server = Connections()
    with serving(server) as uri, futures.ThreadPoolExecutor(9) as pool:
        requests = [opened(uri, call_count=2) for _ in range(9)]
        list(pool.map(lambda request: [request.predict(ROW) for _ in range(10)], requests))

    assert server.made <= 2
    assert server.call_count == 90


def test_what_is_idle_is_closed_when_others_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    kept = KeptConnections(closed.append)
    with kept.use("a", lambda: "of a") as used:
        monkeypatch.setattr(kept_connections, "IDLE_SECONDS", -1.0)
        with kept.use("b", lambda: "of b"):
            assert (used, closed) == ("of a", [])
    with kept.use("c", lambda: "of c"):
        pass

    assert sorted(closed) == ["of a", "of b"]


def test_a_call_that_is_over_ends_no_connection_of_others(control: Any) -> None:
    call, aborted = WatchedCall(control, 60), []
    call.attach(lambda: aborted.append(1))
    call.detach()
    control.end()
    call.inspect()

    assert (aborted, call.is_over) == ([], True)


def grpc_server(port: int, peers: list[str]) -> grpc.Server:
    def answer(_request: bytes, context: Any) -> bytes:
        peers.append(context.peer())
        message = ModelInferResponse(raw_output_contents=[np.array([[7.0]]).tobytes()])
        message.outputs.add(name="y", datatype="FP64", shape=[1, 1])
        return bytes(message.SerializeToString())

    def metadata(_request: bytes, _context: Any) -> bytes:
        tensor = ModelMetadataResponse.TensorMetadata(name="x", datatype="FP64", shape=[-1, 2])
        return bytes(ModelMetadataResponse(name="m", inputs=[tensor]).SerializeToString())

    server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
    methods = {"ModelInfer": answer, "ModelMetadata": metadata}
    handlers = {name: grpc.unary_unary_rpc_method_handler(each) for name, each in methods.items()}
    service = grpc.method_handlers_generic_handler("inference.GRPCInferenceService", handlers)
    server.add_generic_rpc_handlers([service])
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server


def test_requests_share_a_channel_also_after_its_server_started_anew(control: Any) -> None:
    port, peers = free_port(), list[str]()
    address = RemoteAddress("OIP_GRPC", f"grpc://127.0.0.1:{port}", "m")

    def ask() -> None:
        model = open_remote(address, RemotePolicy(shared_by="prefix"), control)
        assert model.predict(ROW).tolist() == [[7.0]]

    server = grpc_server(port, peers)
    ask()
    ask()
    server.stop(None).wait()
    server = grpc_server(port, peers)
    ask()
    server.stop(None).wait()

    assert peers[0] == peers[1] != peers[2]
