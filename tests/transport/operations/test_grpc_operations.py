"""Operations over gRPC: google.longrunning.Operations beside the service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.longrunning import operations_pb2 as longrunning
from google.longrunning.operations_pb2_grpc import OperationsStub
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
    ReadExplanationRequest,
    ReadPartialExplanationsRequest,
    StartExplanationRequest,
)
from onnxplain.v1.firm_pb2 import FirmOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.operations_pb2 import OperationMetadata
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operations import OperationLimits
from onnxplain_server.transport.operations import operation_arguments, operation_calls

MINUTE = Duration(seconds=60)


@pytest.fixture
def serve(start, make_runner) -> Callable[..., tuple[Any, OperationsStub]]:
    """Start a server over some work, with operations; return both of its stubs."""

    def begin(work=lambda _host: None, **settings: object) -> tuple[Any, OperationsStub]:
        store = MemoryOperations(OperationLimits(lease_seconds=0.5))
        client = start(make_runner(work), operations=store, **settings)
        return client.stub, OperationsStub(client.channel)

    return begin


FIRM = [MethodOptions(firm=FirmOptions())]
"""A method that may need neither model nor table."""


def request(seed: int = 3, **rest: Any) -> StartExplanationRequest:
    return StartExplanationRequest(request=ExplainRequest(seed=seed, methods=FIRM), **rest)


def metadata(operation: longrunning.Operation) -> OperationMetadata:
    known = OperationMetadata()
    assert operation.metadata.Unpack(known)
    return known


def ended(operations: OperationsStub, name: str) -> longrunning.Operation:
    operation = longrunning.Operation()
    while not operation.done:
        operation = operations.WaitOperation(
            longrunning.WaitOperationRequest(name=name, timeout=MINUTE)
        )
    return operation


def reason(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    status = rpc_status.from_call(caught.value)
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    return caught.value.code().name, info.reason


def test_an_operation_is_started_awaited_and_has_its_answer(serve) -> None:
    stub, operations = serve()
    methods = [MethodOptions(firm=FirmOptions())]
    model = Model(content=b"\x3a\x04\x0a\x00\x62\x00")
    started = stub.StartExplanation(
        StartExplanationRequest(
            request=ExplainRequest(seed=3, methods=methods, model=model),
            request_id="a",
            labels={"team": "risk"},
        )
    )
    operation = ended(operations, started.name)
    response = ExplainResponse()

    assert operation.response.Unpack(response)
    assert response.receipt.seed == 3
    known = metadata(operation)
    assert (known.state, known.request_id, dict(known.labels), list(known.methods)) == (
        OperationMetadata.SUCCEEDED,
        "a",
        {"team": "risk"},
        ["firm"],
    )
    assert known.create_time.ToSeconds() <= known.end_time.ToSeconds()
    assert known.end_time.ToSeconds() < known.expire_time.ToSeconds()


def test_an_address_that_no_answer_may_be_written_to_is_refused_at_the_start(serve) -> None:
    stub, operations = serve()
    asked = StartExplanationRequest(
        request=ExplainRequest(methods=FIRM, result_uri="s3://results/answer.pb")
    )

    refused = reason(lambda: stub.StartExplanation(asked))

    assert refused == ("PERMISSION_DENIED", "SOURCE_NOT_LISTED")
    assert not operations.ListOperations(longrunning.ListOperationsRequest()).operations


def test_the_answer_is_read_in_parts_from_any_byte(serve, monkeypatch) -> None:
    monkeypatch.setattr(operation_calls, "PART_BYTES", 2)
    monkeypatch.setattr(operation_calls, "INLINE_BYTES", 1)
    stub, operations = serve()
    name = stub.StartExplanation(request(seed=300)).name
    operation = ended(operations, name)
    parts = [part.content for part in stub.ReadExplanation(ReadExplanationRequest(name=name))]
    (last,) = stub.ReadExplanation(ReadExplanationRequest(name=name, offset=len(parts) * 2 - 2))

    assert not operation.HasField("response")
    assert metadata(operation).response_byte_count == sum(map(len, parts))
    assert len(parts) > 1
    assert last.content == parts[-1]
    assert ExplainResponse.FromString(b"".join(parts)).receipt.seed == 300


@pytest.mark.parametrize("offset", [-1, 0.5, 1e9, float("nan")])
def test_an_offset_outside_the_answer_is_refused(serve, offset: float) -> None:
    stub, operations = serve()
    name = stub.StartExplanation(request()).name
    ended(operations, name)
    read = ReadExplanationRequest(name=name, offset=offset)

    assert reason(lambda: list(stub.ReadExplanation(read)))[1] == "INVALID_REQUEST"


def test_an_operation_that_runs_has_progress_and_no_answer_and_can_be_cancelled(
    serve, endless
) -> None:
    stub, operations = serve(endless)
    name = stub.StartExplanation(request()).name
    get = longrunning.GetOperationRequest(name=name)
    while not metadata(operations.GetOperation(get)).progress.done:
        threading.Event().wait(0.01)
    read = reason(lambda: list(stub.ReadExplanation(ReadExplanationRequest(name=name))))
    operations.CancelOperation(longrunning.CancelOperationRequest(name=name))
    operation = ended(operations, name)

    assert read == ("FAILED_PRECONDITION", "OPERATION_NOT_DONE")
    assert operation.error.code == grpc.StatusCode.CANCELLED.value[0]
    assert metadata(operation).state == OperationMetadata.CANCELLED
    read = reason(lambda: list(stub.ReadExplanation(ReadExplanationRequest(name=name))))
    assert read == ("CANCELLED", "CANCELLED")


def test_a_failed_operation_has_the_error_of_its_request(serve) -> None:
    def work(_host) -> None:
        raise ExplainError(Reason.MISSING_COLUMN, "no x", "table")

    stub, operations = serve(work)
    name = stub.StartExplanation(request()).name
    operation = ended(operations, name)

    assert (operation.error.code, operation.error.message) == (3, "no x")
    read = reason(lambda: list(stub.ReadExplanation(ReadExplanationRequest(name=name))))
    assert read == ("INVALID_ARGUMENT", "MISSING_COLUMN")


def test_a_wait_ends_after_its_time_and_before_the_deadline(
    serve, endless, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So long before it that an answer comes in time on a busy machine."""
    monkeypatch.setattr(operation_arguments, "_DEADLINE_SECONDS", 119.0)
    stub, operations = serve(endless)
    name = stub.StartExplanation(request()).name
    wait = longrunning.WaitOperationRequest
    short = operations.WaitOperation(wait(name=name, timeout=Duration(nanos=1)))
    hurried = operations.WaitOperation(wait(name=name), timeout=120)

    assert not short.done
    assert not hurried.done


def test_calls_that_find_no_place_to_wait_get_the_state_at_once(
    serve, endless, monkeypatch
) -> None:
    monkeypatch.setattr(operation_calls, "WAIT_LIMIT", 1)
    stub, operations = serve(endless)
    name = stub.StartExplanation(request()).name
    wait = longrunning.WaitOperationRequest(name=name)
    calls = [operations.WaitOperation.future(wait) for _ in range(2)]
    while not any(call.done() for call in calls):
        threading.Event().wait(0.01)
    first = [call for call in calls if call.done()]

    assert len(first) == 1
    assert not first[0].result().done
    for call in calls:
        call.cancel()


def test_a_request_id_names_one_operation(serve) -> None:
    stub, _ = serve()
    first = stub.StartExplanation(request(request_id="a"))
    again = stub.StartExplanation(request(request_id="a"))
    other = reason(lambda: stub.StartExplanation(request(seed=4, request_id="a")))

    assert first.name == again.name
    assert other == ("ALREADY_EXISTS", "REQUEST_ID_IN_USE")


def test_a_list_has_pages_of_what_its_filter_matches(serve) -> None:
    stub, operations = serve()
    names = [
        stub.StartExplanation(request(seed, labels={"even": str(seed % 2 == 0)})).name
        for seed in range(5)
    ]
    ask = longrunning.ListOperationsRequest(filter="labels.even = True", page_size=2)
    first = operations.ListOperations(ask)
    ask.page_token = first.next_page_token
    second = operations.ListOperations(ask)

    listed = [operation.name for page in (first, second) for operation in page.operations]
    assert listed == [names[4], names[2], names[0]]
    assert not second.next_page_token
    for name in names:
        ended(operations, name)
    page = operations.ListOperations(longrunning.ListOperationsRequest(filter="done = true"))
    assert len(page.operations) == 5
    assert not any(operation.HasField("response") for operation in page.operations)


@pytest.mark.parametrize(
    "ask",
    [
        longrunning.ListOperationsRequest(filter="x"),
        longrunning.ListOperationsRequest(page_token="x"),  # noqa: S106 - a page
        longrunning.ListOperationsRequest(page_token="1"),  # noqa: S106 - a page
        longrunning.ListOperationsRequest(page_size=-1),
        longrunning.ListOperationsRequest(name="models"),
    ],
)
def test_a_list_that_cannot_be_made_is_refused(serve, ask) -> None:
    _, operations = serve()

    assert reason(lambda: operations.ListOperations(ask))[1] == "INVALID_REQUEST"


def test_a_deleted_operation_does_not_exist(serve) -> None:
    stub, operations = serve()
    name = stub.StartExplanation(request()).name
    operations.DeleteOperation(longrunning.DeleteOperationRequest(name=name))

    for call in (
        lambda: operations.GetOperation(longrunning.GetOperationRequest(name=name)),
        lambda: operations.WaitOperation(longrunning.WaitOperationRequest(name=name)),
        lambda: operations.CancelOperation(longrunning.CancelOperationRequest(name=name)),
        lambda: operations.DeleteOperation(longrunning.DeleteOperationRequest(name=name)),
        lambda: list(stub.ReadExplanation(ReadExplanationRequest(name=name))),
        lambda: list(stub.ReadPartialExplanations(ReadPartialExplanationsRequest(name=name))),
    ):
        assert reason(call) == ("NOT_FOUND", "OPERATION_NOT_FOUND")


@pytest.mark.parametrize("name", ["", "operations/", "x", "operations/a/b"])
def test_a_name_that_is_none_is_refused(serve, name: str) -> None:
    _, operations = serve()
    get = longrunning.GetOperationRequest(name=name)

    assert reason(lambda: operations.GetOperation(get)) == ("INVALID_ARGUMENT", "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (StartExplanationRequest(), "request"),
        (request(request_id="a b"), "request_id"),
        (request(request_id="a" * 129), "request_id"),
        (request(labels={"": "x"}), "labels"),
        (request(labels={"a b": "x"}), "labels"),
        (request(labels={"a": "x" * 256}), "labels"),
        (request(labels={str(i): "" for i in range(65)}), "labels"),
    ],
)
def test_a_malformed_start_is_refused(serve, message, field: str) -> None:
    stub, _ = serve()
    with pytest.raises(grpc.RpcError) as caught:
        stub.StartExplanation(message)
    status = rpc_status.from_call(caught.value)

    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert field in str(status)


def test_a_server_without_a_store_names_the_setting(start, make_runner) -> None:
    client = start(make_runner())
    operations = OperationsStub(client.channel)
    with pytest.raises(grpc.RpcError) as caught:
        client.stub.StartExplanation(request())

    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "redis_url" in caught.value.details()
    get = longrunning.GetOperationRequest(name="operations/1")
    assert reason(lambda: operations.GetOperation(get))[1] == "OPERATIONS_DISABLED"


def test_waits_end_when_the_server_stops(
    start, make_runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_held, go = threading.Event(), threading.Event()
    wait_ = operation_calls.OperationCalls._wait

    def held(*given: Any) -> Any:
        is_held.set()
        return wait_(*given)

    monkeypatch.setattr(operation_calls.OperationCalls, "_wait", held)
    client = start(make_runner(lambda _host: go.wait(120)), operations=MemoryOperations())
    operations = OperationsStub(client.channel)
    name = client.stub.StartExplanation(request()).name
    wait = operations.WaitOperation.future(longrunning.WaitOperationRequest(name=name))
    assert is_held.wait(120)
    draining = threading.Thread(target=client.server.drain, args=(120,))
    draining.start()

    assert not wait.result(120).done
    go.set()
    draining.join()
