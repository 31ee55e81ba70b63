"""Executor of operations: what becomes of each, over a real store in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    Explanation,
    MethodOptions,
    PartialExplanation,
)
from onnxplain.v1.firm_pb2 import FirmOptions
from onnxplain.v1.plan_pb2 import ExplanationPlan, MethodPlan, RemainingQuota
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import RequestHost
from onnxplain_server.core.operation_store import Claim, OperationStore, OperationStoreError
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationLimits,
    OperationState,
)
from onnxplain_server.telemetry.spans import span
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.admission.quotas import NO_QUOTAS, QuotaLimits, Quotas
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.attempt_plan import PLAN_BYTES
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation, ExplanationSink
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.operations.executor import ATTEMPT_LIMIT, OperationExecutor
from onnxplain_server.transport.operations.keeper import PART_BYTES, PARTS_BYTES
from onnxplain_server.transport.service import Service
from onnxplain_server.wire.kept_parts import pack_part

PATIENCE = 120.0

REQUEST = NewOperation(ExplainRequest(seed=7).SerializeToString(), caller_name="ada")


class Clock:
    """Time that passes when a test says so."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Failing:
    """Work that fails for these reasons, one after the other, and then succeeds."""

    def __init__(self, *reasons: Reason) -> None:
        self.calls = 0
        self._reasons = iter(reasons)

    def __call__(self, _host: RequestHost) -> None:
        self.calls += 1
        if (failure := next(self._reasons, None)) is not None:
            raise ExplainError(failure, "not now")


@pytest.fixture
def execute(make_runner) -> Iterator[Callable[..., Scheduler]]:
    """Start an executor over a store and some work; return its scheduler."""
    executors: list[tuple[OperationExecutor, Scheduler]] = []

    def begin(
        store: OperationStore,
        work: Callable[[RequestHost], None],
        sink: ExplanationSink = lambda _explanation: None,
        plan: Callable[[RequestHost], ExplanationPlan] = lambda _host: ExplanationPlan(),
        quotas: Quotas = NO_QUOTAS,
        outage_seconds: float = 0.0,
    ) -> Scheduler:
        scheduler, metrics = Scheduler(2, 2), Metrics()
        metrics.on_explanation(sink)
        runner = make_runner(work)
        runner.plan_of_operation = plan
        service = Service(
            runner,
            MemoryCache(0, Signer(b"")),
            MemoryBlobs(0, 1),
            decoder=LocalDecoder(),
            limits=RequestLimits(1, 1, 60.0),
            scheduler=scheduler,
            metrics=metrics,
            quotas=quotas,
        )
        executor = OperationExecutor(
            store, service, scheduler, thread_count=2, outage_seconds=outage_seconds
        )
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
    failing = Failing(Reason.UNAVAILABLE, Reason.WORKER_DIED)

    def work(host: RequestHost) -> None:
        host.advance(5, 10)
        failing(host)

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


def test_a_cancelled_operation_has_no_answer_even_if_its_computation_was_over(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)

    def work(_host: RequestHost) -> None:
        store.cancel("ada", operation.id)

    execute(store, work)
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.CANCELLED, "CANCELLED")


def test_work_on_a_deleted_operation_stops(execute, make_runner, endless) -> None:
    store = MemoryOperations(OperationLimits(lease_seconds=0.5))
    operation = store.start("ada", REQUEST)
    is_over = threading.Event()

    def work(host: RequestHost) -> None:
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

    def work(_host: RequestHost) -> None:
        raise ExplainError(Reason.MISSING_COLUMN, "no x", "table")

    execute(store, work)
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.FAILED, "MISSING_COLUMN")


def test_an_unexpected_error_tells_no_more_than_that(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)

    def work(_host: RequestHost) -> None:
        raise ZeroDivisionError("secret")

    execute(store, work)
    found = ended(store, operation)

    assert reason(found) == "INTERNAL"
    assert b"secret" not in (found.error or b"")


@pytest.mark.parametrize(
    ("outages", "state"), [(ATTEMPT_LIMIT - 1, "SUCCEEDED"), (ATTEMPT_LIMIT, "FAILED")]
)
def test_what_is_unavailable_is_asked_for_a_bounded_number_of_times(
    execute, outages: int, state: str
) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    work = Failing(*outages * [Reason.UNAVAILABLE])
    execute(store, work)
    found = ended(store, operation)

    assert found.state is OperationState[state]
    assert work.calls == found.attempt_count == ATTEMPT_LIMIT
    if state == "FAILED":
        assert reason(found) == "UNAVAILABLE"
        assert b"not now" in (found.error or b"")


def test_an_operation_waits_after_an_outage_and_twice_as_long_after_the_next(execute) -> None:
    clock = Clock()
    store = MemoryOperations(clock=clock)
    operation = store.start("ada", REQUEST)
    execute(store, Failing(Reason.UNAVAILABLE, Reason.UNAVAILABLE), outage_seconds=30.0)
    for count, pause in ((1, 30), (2, 60)):
        found = operation
        while (found.state, found.attempt_count) != (OperationState.PENDING, count):
            threading.Event().wait(0.01)
            found = store.get("ada", operation.id) or operation
        clock.now += pause - 1
        assert store.claim("other") is None
        clock.now += 1
    assert ended(store, operation).state is OperationState.SUCCEEDED


@pytest.mark.parametrize(("crashes", "state"), [(1, "SUCCEEDED"), (2, "FAILED")])
def test_a_request_that_kills_its_worker_twice_fails(execute, crashes: int, state: str) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    work = Failing(*crashes * [Reason.WORKER_DIED])
    execute(store, work)
    found = ended(store, operation)

    assert found.state.name == state
    assert work.calls == 2


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

    def work(host: RequestHost) -> None:
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


def planned(host: RequestHost) -> ExplanationPlan:
    """Work as planning does, which must not count as the explanation's."""
    host.advance(0, 0)
    host.count_processor(0.5)
    with span("predict", rows=300.0):
        pass
    quota = RemainingQuota(predicted_row_count=9)
    return ExplanationPlan(methods=[MethodPlan(name="firm")], remaining_quota=quota)


def test_the_first_attempt_plans_and_later_ones_do_not(execute) -> None:
    store = MemoryOperations()
    lines: list[EndedExplanation] = []
    operation = store.start("ada", REQUEST)
    plans: list[bytes] = []
    failing = Failing(Reason.UNAVAILABLE, Reason.WORKER_DIED)

    def plan(host: RequestHost) -> ExplanationPlan:
        found = planned(host)
        plans.append(found.SerializeToString())
        return found

    def work(host: RequestHost) -> None:
        host.count_processor(1.0)
        shown = store.get("ada", operation.id)
        assert shown is not None
        assert ExplanationPlan.FromString(shown.plan) == ExplanationPlan(
            methods=[MethodPlan(name="firm")]
        )
        failing(host)

    execute(store, work, lines.append, plan)
    found = ended(store, operation)

    assert found.state is OperationState.SUCCEEDED
    assert len(plans) == 1
    assert store.list("ada")[0][0].plan == b""
    # Its processor time counts, its rows do not.
    assert [(e.usage.processor_seconds, e.usage.predicted_row_count) for e in lines] == [
        (1.5, 0),
        (1.0, 0),
        (1.0, 0),
    ]


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (ExplainError(Reason.MISSING_COLUMN, "no x", "table"), "FAILED"),
        (ExplainError(Reason.WORKER_DIED, "died"), "SUCCEEDED"),
        (ExplainError(Reason.NON_FINITE_PREDICTION, "nan"), "SUCCEEDED"),
        (ZeroDivisionError("no reason"), "SUCCEEDED"),
    ],
)
def test_only_an_invalid_request_fails_by_its_plan(execute, failure: Exception, state: str) -> None:
    store = MemoryOperations()
    lines: list[EndedExplanation] = []
    calls: list[int] = []
    operation = store.start("ada", REQUEST)

    def plan(host: RequestHost) -> ExplanationPlan:
        planned(host)
        raise failure

    execute(store, lambda _host: calls.append(1), lines.append, plan)
    found = ended(store, operation)

    assert (found.state.name, found.plan, found.attempt_count) == (state, b"", 1)
    assert bool(calls) == (state == "SUCCEEDED")
    if state == "FAILED":
        assert reason(found) == "MISSING_COLUMN"
    assert [e.usage.predicted_row_count for e in lines] == [0]


def test_a_plan_that_is_too_large_is_left_out(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    large = ExplanationPlan(methods=[MethodPlan(engine_reason="x" * PLAN_BYTES)])
    execute(store, lambda _host: None, plan=lambda _host: large)
    found = ended(store, operation)

    assert (found.state, found.plan) == (OperationState.SUCCEEDED, b"")


@pytest.mark.parametrize("limit", ["rows", "seconds"])
def test_an_operation_without_quota_waits_until_there_is_room(execute, limit: str) -> None:
    clock = Clock()
    store = MemoryOperations(clock=clock)
    quotas = Quotas(
        QuotaLimits(100, None) if limit == "rows" else QuotaLimits(None, 10), MemoryQuotas(clock)
    )
    ada = Caller("ada", 1, lambda: False)
    with quotas.charged(ada):
        ada.usage.predicted_row_count, ada.usage.processor_seconds = 60, 60
    operation = store.start("ada", REQUEST)
    lines: list[EndedExplanation] = []
    is_refused = threading.Event()

    def sink(explanation: EndedExplanation) -> None:
        lines.append(explanation)
        is_refused.set()

    execute(store, lambda host: host.advance(0, 60), sink, quotas=quotas)
    assert is_refused.wait(PATIENCE)
    while (store.get("ada", operation.id) or operation).state is not OperationState.PENDING:
        threading.Event().wait(0.01)
    clock.now += 3_000
    waiting = store.claim("other")
    clock.now += 661
    found = ended(store, operation)

    assert waiting is None
    assert (found.state, found.attempt_count) == (OperationState.SUCCEEDED, 1)
    assert [e.outcome for e in lines] == ["QUOTA_EXCEEDED", "OK"]


def test_an_operation_beyond_the_whole_quota_fails(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    quotas = Quotas(QuotaLimits(100, None), MemoryQuotas())
    execute(store, lambda host: host.advance(0, 101), quotas=quotas)
    found = ended(store, operation)

    assert (found.state, reason(found)) == (OperationState.FAILED, "QUOTA_EXCEEDED")


def packed(index: int, size: int = 0) -> bytes:
    option = FirmOptions(features=["x" * size])
    explanation = Explanation(options=MethodOptions(firm=option))
    return pack_part(PartialExplanation(index=index, explanation=explanation))


def indices(store: OperationStore, operation: Operation) -> list[int]:
    parts = store.read_parts("ada", operation.id)
    assert parts is not None
    return [PartialExplanation.FromString(part).index for part in parts]


def test_parts_are_stored_while_it_runs_and_go_when_it_has_an_answer(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)
    seen: list[list[int]] = []

    def work(host: Any) -> None:
        for index in (1, 0, 1):
            host.publish(packed(index))
        while len(indices(store, operation)) < 2:
            threading.Event().wait(0.01)
        seen.append(indices(store, operation))

    execute(store, work)
    found = ended(store, operation)

    assert seen == [[0, 1]]
    assert found.state is OperationState.SUCCEEDED
    assert 2 <= found.part_count <= 3
    assert indices(store, operation) == []


@pytest.mark.parametrize("reason_", [Reason.PREDICTION_FAILED, Reason.CANCELLED])
def test_what_ends_without_an_answer_keeps_its_last_parts(execute, reason_: Reason) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)

    def work(host: Any) -> None:
        host.publish(packed(0))
        raise ExplainError(reason_, "no")

    execute(store, work)
    found = ended(store, operation)

    assert found.state is not OperationState.SUCCEEDED
    assert (found.part_count, indices(store, operation)) == (1, [0])


def test_parts_that_are_too_large_are_left_out(execute) -> None:
    store = MemoryOperations()
    operation = store.start("ada", REQUEST)

    def work(host: Any) -> None:
        for part in (b"", packed(0, PART_BYTES), packed(100)):
            host.publish(part)
        for index in range(1 + PARTS_BYTES // (PART_BYTES // 2)):
            host.publish(packed(index, PART_BYTES // 2))
        host.publish(packed(101, PART_BYTES // 2))
        host.publish(packed(102))
        raise ExplainError(Reason.PREDICTION_FAILED, "no")

    execute(store, work)
    ended(store, operation)
    found = indices(store, operation)
    size = sum(map(len, store.read_parts("ada", operation.id) or ()))

    assert found == [*range(PARTS_BYTES // (PART_BYTES // 2)), 100, 102]
    assert size <= PARTS_BYTES


def test_a_store_that_does_not_answer_costs_plan_and_parts_only(execute) -> None:
    class Silent(MemoryOperations):
        def keep_plan(self, claim: Claim, plan: bytes) -> bool:
            raise OperationStoreError("silent")

        def keep_part(self, claim: Claim, index: int, part: bytes) -> bool:
            raise OperationStoreError("silent")

    store = Silent()
    operation = store.start("ada", REQUEST)
    execute(store, lambda host: host.publish(packed(0)))
    found = ended(store, operation)

    assert (found.state, found.plan, found.part_count) == (OperationState.SUCCEEDED, b"", 0)
