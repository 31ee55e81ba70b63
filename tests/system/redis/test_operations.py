"""Operations on two servers and one Redis: another one ends what a lost one has begun."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.request import urlopen

import onnxplain
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from onnxplain.requests.arguments import to_request
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, PartialExplanation
from onnxplain.v1.plan_pb2 import ExplanationPlan
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationLimits,
    OperationState,
)
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.uploads import Uploads
from onnxplain_server.wire.protobuf_split import split

Rows = dict[str, list[float]]

KEY = "0123456789abcdef"
OWNER = "ada"
PATIENCE = 300.0
LEASE = 2.0

ROW_COUNT = 1_500
"""So many that the work takes some seconds."""
WORK_SECONDS = 5.0
"""Of a processor: what is given up here would take some times as much."""


def head(rows: Rows, count: int) -> Rows:
    return {name: values[:count] for name, values in rows.items()}


def new_operation(
    model: bytes, rows: Rows, *methods: Any, row_count: int = ROW_COUNT, **options: Any
) -> NewOperation:
    """Make the operation of a request, as a server does."""
    message = to_request(
        model, rows, *methods, row_count=row_count, plots=False, **options
    ).SerializeToString()
    caller = Caller("", 1.0, lambda: False)
    uploads = Uploads(MemoryBlobs(2**30, 1), RequestLimits(2**30, 2**30, 1.0))
    named = uploads.name(ServiceMethod.EXPLAIN, split(message, ServiceMethod.EXPLAIN), caller)
    ids = named.ids
    return NewOperation(
        named.request,
        named.blobs,
        model_id=ids.model,
        table_id=ids.table,
        table_form=ids.table_form,
    )


@pytest.fixture
def store(redis_server, link) -> RedisOperations:
    return RedisOperations(link, KEY.encode(), OperationLimits(lease_seconds=LEASE))


@pytest.fixture
def replica(serve: Callable[..., Any], redis_server) -> Callable[..., Any]:
    """Start a replica that computes operations."""

    def start(**settings: object) -> Any:
        shared = {"redis_url": redis_server.url, "cache_secret": KEY}
        return serve(operations_lease_seconds=LEASE, **shared, **settings)

    return start


def ended(store: RedisOperations, operation: Operation) -> Operation:
    found = store.wait(OWNER, operation.id, PATIENCE)
    assert found is not None
    assert found.state.is_terminal
    return found


def answer(store: RedisOperations, operation: Operation) -> ExplainResponse:
    content = store.read_response(OWNER, operation.id, 0, 2**30)
    assert content is not None
    return ExplainResponse.FromString(content)


def running(store: RedisOperations, operation: Operation, share: float, soon) -> Operation:
    """Wait until so much of an operation is done."""

    def reached() -> bool:
        found = store.get(OWNER, operation.id)
        assert found is not None
        assert not found.state.is_terminal, found
        return found.planned > 0 and found.done >= share * found.planned

    assert soon(reached)
    found = store.get(OWNER, operation.id)
    assert found is not None
    return found


def serves(server: Any) -> bool:
    """Return whether a server holds a slot for a request or an operation."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics") as page:
        running = re.search(rb"^onnxplain_running_requests (\S+)", page.read(), re.MULTILINE)
    assert running is not None
    return float(running[1]) > 0


def results(response: ExplainResponse) -> bytes:
    return b"".join(each.SerializeToString(deterministic=True) for each in response.explanations)


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_another_replica_ends_what_a_lost_one_computed(
    replica, store: RedisOperations, network: bytes, rows: Rows, soon, end: signal.Signals
) -> None:
    replicas = replica(grace_seconds=0), replica(grace_seconds=0)
    new = new_operation(network, head(rows, ROW_COUNT), onnxplain.Interactions())
    operation = store.start(OWNER, new)
    running(store, operation, 0.2, soon)
    lost = next(each for each in replicas if serves(each))
    lost.process.send_signal(end)
    found = ended(store, operation)
    whole = ended(store, store.start(OWNER, new))

    assert found.state is OperationState.SUCCEEDED
    assert found.attempt_count == (2 if end is signal.SIGKILL else 1)
    assert results(answer(store, found)) == results(answer(store, whole))
    assert store.counts().resumed_count == (end is signal.SIGKILL)


@pytest.mark.slow
def test_plan_and_parts_outlive_the_replica_that_made_them(
    replica, store: RedisOperations, network: bytes, rows: Rows, soon
) -> None:
    replicas = replica(grace_seconds=0), replica(grace_seconds=0)
    methods = onnxplain.PartialDependence(features=["x0"]), onnxplain.Interactions()
    few = head(rows, ROW_COUNT)
    operation = store.start(OWNER, new_operation(network, few, *methods, partial=True))
    assert soon(lambda: len(store.read_parts(OWNER, operation.id) or ()) == 2)
    before = store.get(OWNER, operation.id)
    parts = store.read_parts(OWNER, operation.id)
    next(each for each in replicas if serves(each)).process.kill()
    left = store.get(OWNER, operation.id)
    found = ended(store, operation)
    whole = ended(store, store.start(OWNER, new_operation(network, few, *methods)))

    assert before is not None
    assert left is not None
    assert parts is not None
    plan = ExplanationPlan.FromString(before.plan)
    assert [method.name for method in plan.methods] == ["partial_dependence", "interactions"]
    assert left.plan == found.plan == before.plan
    curve, sample = (PartialExplanation.FromString(part) for part in parts)
    assert (curve.index, curve.is_final, sample.index) == (0, True, 1)
    assert curve.explanation == answer(store, found).explanations[0]
    assert (found.state, found.attempt_count) == (OperationState.SUCCEEDED, 2)
    assert results(answer(store, found)) == results(answer(store, whole))
    assert store.read_parts(OWNER, operation.id) == []
    assert found.part_count > before.part_count >= 2


@pytest.mark.slow
def test_a_request_whose_worker_dies_twice_fails(
    replica, store: RedisOperations, network: bytes, rows: Rows, soon
) -> None:
    server = replica(quarantine_seconds=1)
    new = new_operation(network, head(rows, ROW_COUNT), onnxplain.Interactions())
    operation = store.start(OWNER, new)
    for crash_count in range(2):
        is_due = partial(begun, store, operation, crash_count)
        assert soon(is_due), store.get(OWNER, operation.id)
        while kill_workers(server, is_due):
            time.sleep(0.1)
    found = ended(store, operation)

    assert found.state is OperationState.FAILED
    assert found.error is not None
    info = ErrorInfo()
    assert Status.FromString(found.error).details[0].Unpack(info)
    assert info.reason == "WORKER_DIED"
    assert (found.attempt_count, found.crash_count) == (2, 1)


def kill_workers(server: Any, is_due: Callable[[], bool]) -> bool:
    """Kill the workers if it is due. The server stands still, so a retry is not killed as well."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        due = is_due()
        for worker in server.workers() - server.children() if due else ():
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
    finally:
        server.process.send_signal(signal.SIGCONT)
    return due


def begun(store: RedisOperations, operation: Operation, crash_count: int) -> bool:
    """Return whether an attempt computes after so many crashes."""
    found = store.get(OWNER, operation.id)
    assert found is not None
    is_running = found.state is OperationState.RUNNING and found.done > 0
    return is_running and found.crash_count == crash_count


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["flush", "restart", "freeze"])
def test_what_redis_does_meanwhile_leaves_no_operation_behind(
    replica, store: RedisOperations, redis_server, network: bytes, rows: Rows, soon, fault: str
) -> None:
    """Lost ones are gone, a replica that computes one stops, and new ones are computed."""
    server = replica()
    new = new_operation(network, head(rows, ROW_COUNT), onnxplain.Interactions())
    long = new_operation(
        network, rows, onnxplain.Interactions(), row_count=4_000, engine="BLACK_BOX"
    )
    operation = store.start(OWNER, new if fault == "freeze" else long)
    running(store, operation, 0.1, soon)
    match fault:
        case "flush":
            redis_server.admin.flushall()
        case "restart":
            redis_server.kill()
            redis_server.start()
        case "freeze":
            redis_server.freeze()
            time.sleep(2 * LEASE)
            redis_server.thaw()
    if fault == "freeze":
        assert ended(store, operation).state is OperationState.SUCCEEDED
    else:
        assert soon(lambda: store.get(OWNER, operation.id) is None)
        assert server.rests(WORK_SECONDS)
    fresh = ended(store, store.start(OWNER, new))

    assert fresh.state is OperationState.SUCCEEDED
    assert answer(store, fresh).receipt.seed == 0
    assert store.counts().states[OperationState.RUNNING] == 0
