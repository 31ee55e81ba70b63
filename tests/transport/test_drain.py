"""Graceful drain: refused, running and unsent work when the server stops."""

from __future__ import annotations

import http.client
import math
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    Receipt,
)
from onnxplain.v1.upload_pb2 import UploadModelRequest
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import Reply
from onnxplain_server.wire.reply import encode

from tools.waiting import until

CHECK = health_pb2.HealthCheckRequest
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
PATIENCE = 120.0


@pytest.fixture
def long_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server waits for calls that it has told to end, however busy the machine is."""
    monkeypatch.setattr("onnxplain_server.serve._LAST_SECONDS", PATIENCE)


@pytest.fixture
def long_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stops goes on to take connections for as long as its work does."""
    monkeypatch.setattr("onnxplain_server.serve._NEWS_SECONDS", PATIENCE)


class Draining:
    """A server that stops, on a thread of its own."""

    def __init__(self, client, seconds: float) -> None:
        self.ended: bool | None = None
        self._thread = threading.Thread(target=self._run, args=(client, seconds), daemon=True)
        self._thread.start()

    def _run(self, client, seconds: float) -> None:
        self.ended = client.server.drain(seconds)

    @property
    def goes_on(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> bool | None:
        """Wait for the end; whether all work has ended, None where the server still runs."""
        self._thread.join(PATIENCE)
        return self.ended


@pytest.mark.usefixtures("long_news")
def test_running_work_is_finished_and_new_work_refused(start, make_runner) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(PATIENCE))
    client = start(runner)
    health = health_pb2_grpc.HealthStub(client.channel)
    watch = health.Watch(CHECK())
    next(watch)
    running = client.stub.Explain.future(ExplainRequest(seed=5))
    assert runner.started.acquire(timeout=PATIENCE)
    drain = Draining(client, PATIENCE)

    assert next(watch).status == NOT_SERVING
    assert health.Check(CHECK()).status == NOT_SERVING
    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest())
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    answer = client.post({})
    assert (answer.status, answer.json["reason"]) == (503, "UNAVAILABLE")
    assert answer.headers["Retry-After"] == "1"
    assert client.rest("GET", "/readyz").status == 503
    assert client.rest("GET", "/v2/health/ready").json == {"ready": False}
    assert client.rest("GET", "/livez").status == 200

    release.set()
    assert running.result(timeout=PATIENCE).receipt.seed == 5
    assert drain.join()


def test_clients_connect_elsewhere_while_running_work_is_finished(start, make_runner) -> None:
    """`make torture` found calls that were refused twice by the same server."""
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(PATIENCE))
    client = start(runner)
    running = client.stub.Explain.future(ExplainRequest(seed=5))
    assert runner.started.acquire(timeout=PATIENCE)

    drain = Draining(client, PATIENCE)
    until(lambda: not listens(client.server.grpc_port))

    assert not running.done()
    release.set()
    assert running.result(timeout=PATIENCE).receipt.seed == 5
    assert drain.join()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_reply_over_rest_leaves_before_the_server_closes(start, make_runner) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(PATIENCE))
    client = start(runner)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(client.post({"seed": 5})))
    asking.start()
    assert runner.started.acquire(timeout=PATIENCE)

    drain = Draining(client, PATIENCE)
    until(lambda: client.server._scheduler.closed)
    release.set()

    assert drain.join()
    asking.join(PATIENCE)
    assert [answer.json["receipt"]["seed"] for answer in answers] == [5]


class LongAnswer:
    """A runner whose answer does not fit into the buffers of a connection."""

    def answer(self, call: Call, host) -> Reply:
        receipt = Receipt(engine_reason="x" * 10_000_000)
        return encode(ExplainResponse(receipt=receipt), call.reply_format, math.inf)


def test_a_client_that_reads_slowly_gets_the_whole_reply(
    start, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else a server without grace would wait as well, for a while.
    monkeypatch.setattr("onnxplain_server.serve._LAST_SECONDS", 0.0)
    client = start(LongAnswer())
    looks = 0
    replying = client.server._rest._replying

    def look() -> bool:
        nonlocal looks
        looks += 1
        return bool(replying())

    client.server._rest._replying = look
    with client.connect() as connection:
        connection.sendall(
            b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        found = connection.recv(1)
        drain = Draining(client, PATIENCE)
        until(lambda: looks >= 10 or not drain.goes_on)
        while more := connection.recv(1_000_000):
            found += more
    assert drain.join()

    assert len(found) > 10_000_000
    assert found.endswith(b"}")


def test_a_client_that_reads_nothing_of_a_reply_keeps_no_thread(start, make_runner) -> None:
    """The whole reply fits into its buffers, of which the disk holds most."""
    client = start(make_runner(), max_response_bytes=2**27)

    assert client.server._rest._server.adj.outbuf_high_watermark > 2**27


@pytest.mark.usefixtures("long_end")
def test_work_beyond_the_grace_period_ends_as_unavailable(start, make_runner, endless) -> None:
    """Also work whose turn never came."""
    runner = make_runner(endless)
    client = start(runner, running_count=1)
    calls = [client.stub.Explain.future(ExplainRequest()) for _ in range(2)]
    assert runner.started.acquire(timeout=PATIENCE)
    until(lambda: client.server._scheduler.counts().waiting_count == 1)

    assert client.server.drain(0.1)

    for call in calls:
        assert call.exception(timeout=PATIENCE).code() is grpc.StatusCode.UNAVAILABLE
        assert call.exception().details() == "the server stopped before the work was done"
    assert len(runner.requests) == 1


def test_connections_that_are_kept_are_closed_with_the_next_reply(start, make_runner) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(PATIENCE))
    client = start(runner)
    running = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=PATIENCE)
    kept = http.client.HTTPConnection("127.0.0.1", client.server.rest_port, timeout=PATIENCE)
    kept.request("GET", "/livez")
    before = kept.getresponse()
    before.read()
    drain = Draining(client, PATIENCE)
    until(client.server._rest._draining.is_set)

    kept.request("POST", "/v1/explanations", "{}", {"Content-Type": "application/json"})
    last = kept.getresponse()

    assert before.headers["Connection"] is None
    assert (last.status, last.headers["Connection"]) == (503, "close")
    assert last.headers["Retry-After"] == "1"
    release.set()
    kept.close()
    running.result(timeout=PATIENCE)
    assert drain.join()


@pytest.mark.usefixtures("long_end")
def test_an_upload_on_its_way_and_a_stream_end_with_a_code_to_ask_again(
    start, make_runner, endless
) -> None:
    client = start(make_runner(endless))
    stop = threading.Event()

    def never() -> Iterator[UploadModelRequest]:
        yield UploadModelRequest(content=b"a")
        stop.wait(PATIENCE)

    upload = client.stub.UploadModel.future(never())
    events = client.stub.ExplainStream(ExplainStreamRequest())
    next(events)
    until(lambda: client.server._scheduler.counts().in_flight_count == 2)

    assert client.server.drain(0.1)

    stop.set()
    with pytest.raises(grpc.RpcError):
        list(events)
    for call in (upload, events):
        assert call.code() is grpc.StatusCode.UNAVAILABLE
        kinds = [packed.TypeName() for packed in rpc_status.from_call(call).details]
        assert "google.rpc.RetryInfo" in kinds


def test_connections_that_idle_do_not_hold_the_server(
    start, make_runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "onnxplain_server.transport.rest.connections.connection_limit._IDLE_SECONDS", 10 * PATIENCE
    )
    client = start(make_runner())
    with client.connect() as idle:
        until(lambda: bool(client.server._rest._server.active_channels))

        assert Draining(client, 10 * PATIENCE).join()

        assert idle.recv(1) == b""


def test_no_thread_of_rest_outlives_it(start, make_runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that did could wake a loop that is gone, through a pipe that is something else by now."""
    monkeypatch.setattr("onnxplain_server.transport.rest.rest_server._THREADS_SECONDS", PATIENCE)
    before = set(threading.enumerate())
    client = start(make_runner())
    client.post({})

    client.server.drain(0)

    names = [thread.name for thread in threading.enumerate() if thread not in before]
    assert not [name for name in names if name.startswith(("waitress", "onnxplain-rest"))]


PROGRAM = """
import logging, signal, sys, threading, time
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.core.request import Reply
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from functools import partial
from onnxplain_server.serve import Server
from onnxplain_server.server_process import run
from onnxplain_server.config.loading import load

class Runner:
    def answer(self, call, host):
        print("started", flush=True)
        {work}
        return Reply((b"",))

logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
settings = load({{"rest_port": 0, "grpc_port": 0, "metrics_port": 0, "grace_seconds": {grace}}})
run(settings, partial(Server, settings, Runner(), MemoryCache(0, Signer(b"")), MemoryBlobs(0, 1),
                      decoder=LocalDecoder()), lambda rest_port, grpc_port: None)
"""


@contextmanager
def serving(work: str, grace: float) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A server in a process of its own, whose work has begun, and the call that waits for it."""
    command = [sys.executable, "-c", PROGRAM.format(work=work, grace=grace)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().rsplit(":", 1)[1].strip()
        try:
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                explain = channel.unary_unary("/onnxplain.v1.ExplanationService/Explain")
                running = explain.future(b"")
                assert process.stdout.readline() == "started\n"
                yield process, running
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_work_end_and_then_ends_the_process(number: signal.Signals) -> None:
    with serving("sys.stdin.readline()", PATIENCE) as (process, running):
        assert process.stdout is not None
        os.kill(process.pid, number)
        assert process.stdout.readline().startswith("stopping")

        process.communicate("go on\n", PATIENCE)

        assert process.returncode == 0
        assert running.exception(timeout=PATIENCE) is None


def test_a_signal_ends_the_process_though_the_work_cannot_be_stopped() -> None:
    """Else the platform would kill it."""
    with serving("threading.Event().wait()", 0.1) as (process, running):
        os.kill(process.pid, signal.SIGTERM)

        assert process.wait(PATIENCE) == 0
        assert running.exception(timeout=PATIENCE) is not None


def test_a_signal_that_another_thread_takes_ends_the_process() -> None:
    work = "signal.pthread_kill(threading.get_ident(), signal.SIGTERM)"
    with serving(work, PATIENCE) as (process, running):
        assert process.wait(PATIENCE) == 0
        assert running.exception(timeout=PATIENCE) is None
