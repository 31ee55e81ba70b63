"""A call that has ended holds no stream of its connection, before any garbage collection too.

C-core counts a stream until its call is freed. It refuses further ones of a connection that has too
many by RST_STREAM, without a word of the server. A call in a cycle of references waits for the
garbage collector, which runs when objects are allocated; a refused stream allocates none.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    ExplainRequest,
    ExplainStreamRequest,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.upload_pb2 import UploadModelRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport import request_log
from onnxplain_server.transport.grpc import grpc_server

from tools.waiting import until

MOST_STREAMS = 40
CALL_COUNT = 60
"""More than a connection may have at a time."""

PATIENCE = 120.0
UPLOAD = "/onnxplain.v1.ExplanationService/UploadModel"


def explain(client: Any) -> None:
    client.stub.Explain(ExplainRequest(), timeout=PATIENCE)


def is_served(client: Any) -> bool:
    """Return whether the connection has room for a call."""
    try:
        explain(client)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    return True


def stream(client: Any) -> None:
    list(client.stub.ExplainStream(ExplainStreamRequest(), timeout=PATIENCE))


def describe(client: Any) -> None:
    client.stub.DescribeModel(DescribeModelRequest(), timeout=PATIENCE)


def upload(client: Any) -> None:
    client.stub.UploadModel(iter([UploadModelRequest(content=b"model")]), timeout=PATIENCE)


def check_health(client: Any) -> None:
    stub = health_pb2_grpc.HealthStub(client.channel)
    stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)


def list_services(client: Any) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    list(stub.ServerReflectionInfo(iter([request]), timeout=PATIENCE))


def send_another_message(client: Any) -> None:
    client.channel.unary_unary("/onnxplain.v1.ExplanationService/Explain")(b"\xff")


def call_an_unknown_method(client: Any) -> None:
    client.channel.unary_unary("/onnxplain.v1.ExplanationService/Guess")(b"")


def send_no_message(client: Any) -> None:
    client.channel.stream_unary(UPLOAD)(iter(()), timeout=PATIENCE)


def leave_while_sending(client: Any) -> None:
    sent, left = threading.Event(), threading.Event()

    def parts() -> Iterator[bytes]:
        yield UploadModelRequest(content=b"part").SerializeToString()
        sent.set()
        left.wait(PATIENCE)

    call = client.channel.stream_unary(UPLOAD).future(parts())
    call.add_done_callback(lambda _: sent.set())  # refused before a second part was asked for
    assert sent.wait(PATIENCE)
    call.cancel()
    left.set()


@pytest.fixture
def uncollected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No garbage is collected; and no log is written, since pytest keeps it, with tracebacks.

    A connection may have few streams.
    """
    monkeypatch.setattr(grpc_server, "_HELD_STREAMS", 0)
    monkeypatch.setattr(grpc_server, "_SPARE_STREAMS", MOST_STREAMS)
    monkeypatch.setattr(request_log.LOG, "disabled", True)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "call",
    [
        explain,
        stream,
        describe,
        upload,
        check_health,
        list_services,
        send_another_message,
        call_an_unknown_method,
        send_no_message,
        leave_while_sending,
    ],
)
def test_a_connection_serves_any_number_of_calls(
    start: Callable[..., Any], make_runner: Callable[..., Any], call: Callable[[Any], None]
) -> None:
    client = start(make_runner(), waiting_count=16)

    for _ in range(CALL_COUNT):
        with suppress(grpc.RpcError):  # of some calls the status is an error
            call(client)

    # Those who left may still have their places, and their calls be about to be freed.
    assert client.server._scheduler.wait_idle(PATIENCE)
    until(lambda: is_served(client), PATIENCE)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "error", [ExplainError(Reason.INVALID_MODEL, "no model"), ValueError("unexpected")], ids=repr
)
@pytest.mark.parametrize("call", [explain, stream])
def test_a_connection_serves_any_number_of_calls_that_fail(
    start: Callable[..., Any],
    make_runner: Callable[..., Any],
    call: Callable[[Any], None],
    error: Exception,
) -> None:
    def fail(_host: object) -> None:
        raise error

    runner = make_runner(fail)
    client = start(runner)
    for _ in range(CALL_COUNT):
        with suppress(grpc.RpcError):
            call(client)
    runner.work = lambda _host: None

    explain(client)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("method", ["Explain", "ExplainStream"])
def test_a_connection_serves_any_number_of_callers_that_leave(
    start: Callable[..., Any],
    make_runner: Callable[..., Any],
    endless: Callable[[Any], None],
    method: str,
) -> None:
    runner = make_runner(endless)
    client = start(runner)
    for _ in range(CALL_COUNT):
        if method == "Explain":
            call = client.stub.Explain.future(ExplainRequest())
        else:
            call = client.stub.ExplainStream(ExplainStreamRequest())
        assert runner.started.acquire(timeout=PATIENCE)
        call.cancel()
        assert runner.ended.acquire(timeout=PATIENCE)
    runner.work = lambda _host: None

    explain(client)


def test_a_full_connection_is_refused_by_the_server_itself(
    start: Callable[..., Any], make_runner: Callable[..., Any]
) -> None:
    """100 callers on one connection, each of which calls again as soon as it is answered.

    The first ones are answered once another was refused.
    """
    is_full = threading.Event()
    runner = make_runner(lambda _host: is_full.wait(PATIENCE))
    server = start(runner, running_count=1, waiting_count=1).server
    options = [("grpc.enable_retries", 0)]
    errors = []
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", options) as channel:
        stub = ExplanationServiceStub(channel)

        def ask() -> None:
            for _ in range(10):
                try:
                    stub.Explain(ExplainRequest(), timeout=PATIENCE)
                except grpc.RpcError as error:
                    errors.append(error)
                    is_full.set()

        with ThreadPoolExecutor(100) as callers:
            for _ in range(100):
                callers.submit(ask)

    assert {error.code() for error in errors} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    for error in errors:
        details = rpc_status.from_call(error).details
        assert any(detail.Is(RetryInfo.DESCRIPTOR) for detail in details)
