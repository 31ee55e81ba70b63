"""How the server stops."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
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

CHECK = health_pb2.HealthCheckRequest
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def long_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stops goes on to take connections for as long as its work does."""
    monkeypatch.setattr("onnxplain_server.serve._NEWS_SECONDS", 60.0)


@pytest.mark.usefixtures("long_news")
def test_running_work_is_finished_and_new_work_refused(start: Any, make_runner: Any) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(5))
    client = start(runner)
    health = health_pb2_grpc.HealthStub(client.channel)
    watch = health.Watch(CHECK())
    next(watch)
    running = client.stub.Explain.future(ExplainRequest(seed=5))
    assert runner.started.acquire(timeout=2)
    drain = threading.Thread(target=client.server.drain, args=(5,))
    drain.start()

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
    assert running.result(timeout=2).receipt.seed == 5
    drain.join(3)
    assert not drain.is_alive()


def test_clients_connect_elsewhere_while_running_work_is_finished(
    start: Any, make_runner: Any
) -> None:
    """`make torture` found calls that were refused twice by the same server."""
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(60))
    client = start(runner)
    running = client.stub.Explain.future(ExplainRequest(seed=5))
    assert runner.started.acquire(timeout=30)
    drain = threading.Thread(target=client.server.drain, args=(60,))

    drain.start()
    while listens(client.server.grpc_port):
        time.sleep(0.01)

    assert not running.done()
    release.set()
    assert running.result(timeout=30).receipt.seed == 5
    drain.join(30)
    assert not drain.is_alive()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_reply_over_rest_leaves_before_the_server_closes(start: Any, make_runner: Any) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(5))
    client = start(runner)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(client.post({"seed": 5})))
    asking.start()
    assert runner.started.acquire(timeout=2)
    threading.Timer(0.1, release.set).start()

    assert client.server.drain(5)

    asking.join(2)
    assert [answer.json["receipt"]["seed"] for answer in answers] == [5]


class LongAnswer:
    """A runner whose answer does not fit into the buffers of a connection."""

    def explain(self, request: bytes, blobs: Any, host: Any) -> bytes:
        receipt = Receipt(engine_reason="x" * 10_000_000)
        return ExplainResponse(receipt=receipt).SerializeToString()

    describe = explain


def test_a_client_that_reads_slowly_gets_the_whole_reply(start: Any) -> None:
    client = start(LongAnswer())
    with client.connect() as connection:
        connection.sendall(
            b"POST /v1/explanations HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        )
        found = connection.recv(1)
        drain = threading.Thread(target=client.server.drain, args=(5,))
        drain.start()
        # Longer than the server waits where no grace is left.
        time.sleep(1.3)
        while more := connection.recv(1_000_000):
            found += more
        drain.join()

    assert len(found) > 10_000_000
    assert found.endswith(b"}")


def test_work_beyond_the_grace_period_ends_as_unavailable(
    start: Any, make_runner: Any, endless: Any
) -> None:
    """Also work whose turn never came."""
    runner = make_runner(endless)
    client = start(runner, running_count=1)
    calls = [client.stub.Explain.future(ExplainRequest()) for _ in range(2)]
    assert runner.started.acquire(timeout=2)
    while not client.server._turns.counts().waiting_count:
        time.sleep(0.01)
    begin = time.monotonic()

    assert client.server.drain(0.1)

    assert time.monotonic() - begin < 2.5
    for call in calls:
        assert call.exception(timeout=2).code() is grpc.StatusCode.UNAVAILABLE
        assert call.exception().details() == "the server stopped before the work was done"
    assert len(runner.requests) == 1


def test_connections_that_are_kept_are_closed_with_the_next_reply(
    start: Any, make_runner: Any
) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(30))
    client = start(runner)
    running = client.stub.Explain.future(ExplainRequest())
    assert runner.started.acquire(timeout=30)
    kept = http.client.HTTPConnection("127.0.0.1", client.server.rest_port, timeout=30)
    kept.request("GET", "/livez")
    before = kept.getresponse()
    before.read()
    drain = threading.Thread(target=client.server.drain, args=(30,))
    drain.start()
    while client.rest("GET", "/readyz").status == 200:
        time.sleep(0.01)

    kept.request("POST", "/v1/explanations", "{}", {"Content-Type": "application/json"})
    last = kept.getresponse()

    assert before.headers["Connection"] is None
    assert (last.status, last.headers["Connection"]) == (503, "close")
    assert last.headers["Retry-After"] == "1"
    release.set()
    running.result(timeout=30)
    drain.join()


def test_an_upload_on_its_way_and_a_stream_end_with_a_code_to_ask_again(
    start: Any, make_runner: Any, endless: Any
) -> None:
    client = start(make_runner(endless))
    stop = threading.Event()

    def never() -> Iterator[UploadModelRequest]:
        yield UploadModelRequest(content=b"a")
        stop.wait(30)

    upload = client.stub.UploadModel.future(never())
    events = client.stub.ExplainStream(ExplainStreamRequest())
    next(events)
    while client.server._turns.counts().place_count < 2:
        time.sleep(0.01)

    assert client.server.drain(0.1)

    stop.set()
    with pytest.raises(grpc.RpcError):
        list(events)
    for call in (upload, events):
        assert call.code() is grpc.StatusCode.UNAVAILABLE
        kinds = [packed.TypeName() for packed in rpc_status.from_call(call).details]
        assert "google.rpc.RetryInfo" in kinds


def test_connections_that_idle_do_not_hold_the_server(start: Any, make_runner: Any) -> None:
    client = start(make_runner())
    idle = client.connect()
    begin = time.monotonic()

    assert client.server.drain(5)

    assert time.monotonic() - begin < 1
    assert idle.recv(1) == b""
    idle.close()


def test_no_thread_of_rest_outlives_it(start: Any, make_runner: Any) -> None:
    """One that did could wake a loop that is gone, through a pipe that is something else by now."""
    client = start(make_runner())
    client.post({})

    client.server.drain(0)

    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith(("waitress", "onnxplain-rest"))]


PROGRAM = """
import logging, sys, time
from onnxplain_server.adapters.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.memory_cache import MemoryCache
from onnxplain_server.adapters.seal import Seal
from onnxplain_server.serve import run
from onnxplain_server.settings import load

class Runner:
    def explain(self, request, blobs, host):
        print("started", flush=True)
        time.sleep({seconds})
        return b""
    describe = explain

logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
run(load({{"rest_port": 0, "grpc_port": 0, "metrics_port": 0, "grace_seconds": {grace}}}), Runner(),
    MemoryCache(0, Seal(b"")), MemoryBlobs(0, 1))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("seconds", "grace", "served"), [(0.3, 5, True), (60, 0.1, False)])
def test_a_signal_ends_the_process_well(
    number: signal.Signals, seconds: float, grace: float, served: bool
) -> None:
    """Also where the work cannot be stopped: the platform would kill it then."""
    program = PROGRAM.format(seconds=seconds, grace=grace)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().rsplit(":", 1)[1].strip()
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        explain = channel.unary_unary("/onnxplain.v1.ExplanationService/Explain")
        running = explain.future(b"")
        assert process.stdout.readline() == "started\n"

        os.kill(process.pid, number)

        assert process.wait(60) == 0
        assert (running.exception(timeout=60) is None) == served
        channel.close()
