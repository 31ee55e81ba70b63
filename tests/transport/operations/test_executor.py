"""Executor of operations: what becomes of each, over a real store in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.operation_store import OperationStore
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationLimits,
    OperationState,
)
from onnxplain_server.transport.admission.admission import RequestLimits
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation, ExplanationSink
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.operations.executor import ATTEMPT_LIMIT, OperationExecutor
from onnxplain_server.transport.service import Service

PATIENCE = 120.0

REQUEST = NewOperation(ExplainRequest(seed=7).SerializeToString(), caller_name="ada")


@pytest.fixture
def execute(make_runner) -> Iterator[Callable[..., Scheduler]]:
    """Start an executor over a store and some work; return its scheduler."""
    executors: list[tuple[OperationExecutor, Scheduler]] = []

    def begin(
        store: OperationStore,
        work: Callable[[ComputationHost], None],
        sink: ExplanationSink = lambda _explanation: None,
    ) -> Scheduler:
        scheduler, metrics = Scheduler(2, 2), Metrics()
        metrics.on_explanation(sink)
        service = Service(
            make_runner(work),
            MemoryCache(0, Signer(b"")),
            MemoryBlobs(0, 1),
            decoder=LocalDecoder(),
            limits=RequestLimits(1, 1, 60.0),
            scheduler=scheduler,
            metrics=metrics,
        )
        executor = OperationExecutor(store, service, scheduler, thread_count=2)
        executors.append((executor, scheduler))
        return scheduler

    yield begin
    for executor, scheduler in executors:
        scheduler.close()
        scheduler.cancel_all()
        executor.stop(PATIENCE)


def ended(store: OperationStore, operation: Operation) -> Operation:
    found = store.wait("ada", operation.id, PATIENCE)
    assert found is not None
    assert found.state.is_terminal
    return found


def reason(operation: Operation) -> str:
    assert operation.error
    info = ErrorInfo()
    status = Status.FromString(operation.error)
    assert status.code
    assert status.details[0].Unpack(info)
    return str(info.reason)


def test_an_operation_ends_with_the_answer_of_its_request(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    execute(store, lambda host: host.advance(5, 10))
    found = ended(store, operation)
    content = store.read_response("ada", operation.id, 0, 1_000)

    assert found.state is OperationState.SUCCEEDED
    assert content is not None
    assert ExplainResponse.FromString(content).receipt.seed == 7


def test_each_attempt_at_an_operation_has_a_line_of_the_audit_log(execute) -> None:
    store = MemoryOperations()
    lines: list[EndedExplanation] = []
    operation = store.start("ada", REQUEST)
    attempts = iter([Reason.UNAVAILABLE, Reason.WORKER_DIED])

    def work(host: ComputationHost) -> None:
        host.advance(5, 10)
        if (failure := next(attempts, None)) is not None:
            raise ExplainError(failure, "not now")

    execute(store, work, lines.append)
    ended(store, operation)

    assert [(e.outcome, e.transport, e.caller) for e in lines] == [
        ("UNAVAILABLE", "operation", "ada"),
        ("WORKER_DIED", "operation", "ada"),
        ("OK", "operation", "ada"),
    ]
    assert {e.operation for e in lines} == {operation.id}
    assert [e.usage.predicted_row_count for e in lines] == [5, 5, 0]


def test_a_heartbeat_tells_progress_and_brings_the_cancellation(execute, endless) -> None:
    store = MemoryOperations(OperationLimits(lease_seconds=0.5))
    operation = store.start("ada", REQUEST)
    execute(store, endless)
    while not (store.get("ada", operation.id) or operation).done:
        threading.Event().wait(0.01)
    store.cancel("ada", operation.id)
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.CANCELLED, "CANCELLED")
    assert found.planned == 10_000


def test_work_on_a_deleted_operation_stops(execute, make_runner, endless) -> None:
    store = MemoryOperations(OperationLimits(lease_seconds=0.5))
    operation = store.start("ada", REQUEST)
    is_over = threading.Event()

    def work(host: ComputationHost) -> None:
        store.delete("ada", operation.id)
        try:
            endless(host)
        finally:
            is_over.set()

    execute(store, work)
    assert is_over.wait(PATIENCE)


def test_an_error_of_the_request_is_the_error_of_the_operation(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)

    def work(_host: ComputationHost) -> None:
        raise ExplainError(Reason.MISSING_COLUMN, "no x", "table")

    execute(store, work)
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.FAILED, "MISSING_COLUMN")


def test_an_unexpected_error_tells_no_more_than_that(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)

    def work(_host: ComputationHost) -> None:
        raise ZeroDivisionError("secret")

    execute(store, work)
    found = ended(store, operation)

    assert reason(found) == "INTERNAL"
    assert b"secret" not in (found.error or b"")


@pytest.mark.parametrize(("crashes", "state"), [(1, "SUCCEEDED"), (2, "FAILED")])
def test_a_request_that_kills_its_worker_twice_fails(execute, crashes: int, state: str) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    calls: list[int] = []

    def work(_host: ComputationHost) -> None:
        calls.append(1)
        if len(calls) <= crashes:
            raise ExplainError(Reason.WORKER_DIED, "died")

    execute(store, work)
    found = ended(store, operation)

    assert found.state.name == state
    assert len(calls) == 2


def test_take_overs_are_bounded(execute) -> None:
    store = MemoryOperations(OperationLimits(lease_seconds=0))
    operation = store.start("ada", REQUEST)
    for _ in range(ATTEMPT_LIMIT):
        assert store.claim("killed") is not None
    calls: list[int] = []
    execute(store, lambda _host: calls.append(1))
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.FAILED, "WORKER_DIED")
    assert calls == []


def test_a_server_that_stops_leaves_its_operations_to_others(execute, endless) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    started = threading.Event()

    def work(host: ComputationHost) -> None:
        started.set()
        endless(host)

    scheduler = execute(store, work)
    assert started.wait(PATIENCE)
    scheduler.close()
    scheduler.cancel_all()
    assert scheduler.wait_idle(PATIENCE)
    left = store.get("ada", operation.id)
    execute(store, lambda _host: None)
    found = ended(store, operation)

    assert left is not None
    assert (left.state, left.attempt_count) == (OperationState.PENDING, 0)
    assert (found.state, found.attempt_count) == (OperationState.SUCCEEDED, 1)


def test_a_response_without_room_fails_the_operation(execute) -> None:
    store = MemoryOperations(OperationLimits(byte_count=REQUEST.byte_count))
    operation = store.start("ada", REQUEST)
    execute(store, lambda _host: None)
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.FAILED, "QUOTA_EXCEEDED")
