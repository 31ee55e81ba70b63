"""Behaviour of gRPC alone."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainStreamRequest
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.core.errors import ExplainError, Reason

SERVING = health_pb2.HealthCheckResponse.SERVING
SERVICE = "onnxplain.v1.ExplanationService"
PATIENCE = 120.0


def test_progress_is_streamed_before_the_response(start, make_runner, looks) -> None:
    def work(host) -> None:
        for done in range(5):
            host.advance(done, 9 - done)
            looks()

    request = ExplainStreamRequest(request=ExplainRequest(seed=3))

    *steps, last = start(make_runner(work)).stub.ExplainStream(request)

    assert progress(steps) == [(0, 9), (1, 8), (2, 7), (3, 6), (4, 5)]
    assert last.response.receipt.seed == 3


def progress(steps: Sequence[Any]) -> list[tuple[float, float]]:
    return [(step.progress.done, step.progress.planned) for step in steps]


def test_progress_is_told_ten_times_a_second_at_most(start, make_runner) -> None:
    enough = threading.Event()

    def work(host) -> None:
        for done in range(10**6):
            host.advance(done, 10**6)
            if enough.wait(0.001):
                return

    begin = time.monotonic()
    stream = start(make_runner(work)).stub.ExplainStream(ExplainStreamRequest())
    steps = progress([next(stream) for _ in range(6)])
    seconds = time.monotonic() - begin
    enough.set()
    rest = list(stream)

    assert len(set(steps)) == 6
    assert seconds >= 0.5
    assert rest[-1].WhichOneof("event") == "response"


def test_progress_neither_falls_back_nor_grows_its_plan(start, make_runner, looks) -> None:
    """Threads may tell in another order than they worked."""

    def work(host) -> None:
        for done, planned in ((5, 10), (4, 12)):
            host.advance(done, planned)
            looks()

    *steps, _ = start(make_runner(work)).stub.ExplainStream(ExplainStreamRequest())

    assert progress(steps) == [(5, 10), (5, 10)]


def test_progress_is_told_only_where_there_was_some(start, make_runner, looks) -> None:
    def work(host) -> None:
        host.advance(1, 2)
        for _ in range(3):
            looks()

    first, second = start(make_runner(work)).stub.ExplainStream(ExplainStreamRequest())

    assert (first.progress.done, second.WhichOneof("event")) == (1, "response")


def test_nothing_is_told_before_there_is_a_plan(start, make_runner, looks) -> None:
    def work(host) -> None:
        host.advance(0, 0)
        looks()
        host.advance(1, 7)

    step, _ = start(make_runner(work)).stub.ExplainStream(ExplainStreamRequest())

    assert (step.progress.done, step.progress.planned) == (1, 7)


def test_an_error_on_the_way_ends_the_stream_with_a_status(start, make_runner) -> None:
    def work(host) -> None:
        host.advance(1, 2)
        raise ValueError("secret")

    stream = start(make_runner(work)).stub.ExplainStream(ExplainStreamRequest())

    assert next(stream).progress.done == 1
    with pytest.raises(grpc.RpcError) as caught:
        next(stream)
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "secret" not in str(rpc_status.from_call(caught.value))


@pytest.mark.parametrize("service", ["", SERVICE])
def test_health_is_answered_while_all_are_busy(start, make_runner, endless, service: str) -> None:
    client = start(make_runner(endless), running_count=1, waiting_count=3)
    calls = [client.stub.Explain.future(ExplainRequest()) for _ in range(50)]
    health = health_pb2_grpc.HealthStub(client.channel)

    reply = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE)

    assert reply.status == SERVING
    for call in calls:
        call.cancel()


def test_watches_and_reflections_that_never_end_starve_nobody(start, make_runner) -> None:
    client = start(make_runner(), running_count=1, waiting_count=0)
    health = health_pb2_grpc.HealthStub(client.channel)
    reflection = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    end = threading.Event()
    watches = [health.Watch(health_pb2.HealthCheckRequest()) for _ in range(20)]
    reflections = [reflection.ServerReflectionInfo(silence(end)) for _ in range(20)]

    assert [next(watch).status for watch in watches] == [SERVING] * 20
    assert health.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE).status == SERVING
    assert client.stub.Explain(ExplainRequest(seed=5), timeout=PATIENCE).receipt.seed == 5
    end.set()
    for call in (*watches, *reflections):
        call.cancel()


def silence(end: threading.Event) -> Iterator[Any]:
    """Ask nothing, for a long time."""
    end.wait(2 * PATIENCE)
    yield from ()


def test_a_missed_deadline_is_the_reason_and_not_that_the_caller_left(start, make_runner) -> None:
    reasons: queue.Queue[Reason] = queue.Queue()

    def work(host) -> None:
        control = host.control
        end = time.monotonic() + PATIENCE
        while not (control._is_disconnected() and time.monotonic() > control.deadline):
            assert time.monotonic() < end
            time.sleep(0.01)
        try:
            host.advance(1, 2)
        except ExplainError as error:
            reasons.put(error.reason)
            raise

    runner = make_runner(work)
    client = start(runner)
    for seconds in (0.1 * 2**number for number in range(12)):  # until one is long enough to begin
        with pytest.raises(grpc.RpcError):
            client.stub.Explain(ExplainRequest(), timeout=seconds)
        assert client.server._scheduler.wait_idle(PATIENCE)
        if runner.started.acquire(blocking=False):
            break

    assert reasons.get(timeout=PATIENCE) is Reason.DEADLINE_EXCEEDED


@pytest.mark.parametrize("service", ["nobody", "inference.GRPCInferenceService"])
def test_a_service_that_is_not_served_has_no_health(start, make_runner, service: str) -> None:
    """The second one is of explainers."""
    health = health_pb2_grpc.HealthStub(start(make_runner()).channel)

    with pytest.raises(grpc.RpcError) as caught:
        health.Check(health_pb2.HealthCheckRequest(service=service))

    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_reflection_has_both_of_its_names_and_every_service_is_healthy(start, make_runner) -> None:
    channel = start(make_runner()).channel
    ask = reflection_pb2.ServerReflectionRequest
    symbol = "grpc.reflection.v1.ServerReflection"
    final = channel.stream_stream(
        f"/{symbol}/ServerReflectionInfo",
        request_serializer=ask.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    asked = [ask(list_services=""), ask(file_containing_symbol=symbol)]

    listed, file = final(iter(asked))

    described = file.file_descriptor_response.file_descriptor_proto[0]
    assert FileDescriptorProto.FromString(described).package == "grpc.reflection.v1"
    health = health_pb2_grpc.HealthStub(channel)
    for service in listed.list_services_response.service:
        found = health.Check(health_pb2.HealthCheckRequest(service=service.name))
        assert found.status == health_pb2.HealthCheckResponse.SERVING


def test_reflection_gives_the_contract(start, make_runner) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(start(make_runner()).channel)
    ask = reflection_pb2.ServerReflectionRequest

    listed, file = stub.ServerReflectionInfo(
        iter([ask(list_services=""), ask(file_containing_symbol=SERVICE)])
    )

    names = {service.name for service in listed.list_services_response.service}
    contract = FileDescriptorProto.FromString(
        file.file_descriptor_response.file_descriptor_proto[0]
    )
    assert names == {
        SERVICE,
        "google.longrunning.Operations",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    assert [method.name for method in contract.service[0].method] == [
        "Explain",
        "ExplainStream",
        "StartExplanation",
        "ReadExplanation",
        "ReadPartialExplanations",
        "PlanExplanation",
        "DescribeModel",
        "DescribeTable",
        "Predict",
        "CheckModel",
        "CompareExplanations",
        "UploadModel",
        "UploadTable",
    ]


def test_messages_far_over_grpcs_own_limit_arrive(start, make_runner) -> None:
    runner = make_runner()
    rows = bytes(20 * 2**20)

    start(runner).stub.Explain(ExplainRequest(table=Table(csv=rows)))

    assert runner.requests[0].table.csv == rows


def test_messages_over_our_limit_are_refused(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner, max_message_bytes=2**16)

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest(table=Table(csv=bytes(2**16))))

    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert runner.requests == []


def test_bytes_that_are_no_message_are_a_fault_of_the_caller(start, make_runner) -> None:
    call = start(make_runner()).channel.unary_unary(f"/{SERVICE}/Explain")

    with pytest.raises(grpc.RpcError) as caught:
        call(b"\xff\xff")

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    (packed, *_) = rpc_status.from_call(caught.value).details
    assert ErrorInfo.FromString(packed.value).reason == "INVALID_REQUEST"
