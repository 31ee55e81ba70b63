"""Operations in a real Redis that fails: they end clearly, or begin anew, and nobody hangs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import pytest
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.adapters.storage.redis_connection import RedisConnection
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operation_store import Claim, OperationStoreError, Release, Renewal
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationLimits,
    OperationState,
)
from onnxplain_server.core.request import RequestFile

RULES = Path(__file__).parents[3] / "deploy/helm/onnxplain/templates/redis/_files.tpl"
KEY = b"secret of the tests"
SUCCEEDED = OperationState.SUCCEEDED
MIB = 2**20


@pytest.fixture
def store(redis_server, link: RedisConnection) -> RedisOperations:
    return RedisOperations(link, KEY)


def claimed(store: RedisOperations) -> Claim:
    claim = store.claim("c")
    assert claim is not None
    return claim


def keys(redis_server, kind: str = "") -> list[bytes]:
    found: list[bytes] = sorted(redis_server.admin.scan_iter(f"onnxplain:operations:*:{kind}*"))
    return found


def is_there(store: RedisOperations, operation: Operation) -> bool:
    return store.get("ada", operation.id) is not None


@pytest.mark.parametrize("size", [0, 1, MIB - 37, MIB - 36, 3 * MIB + 5])
def test_bytes_come_back_as_they_were(store: RedisOperations, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    content = content[:size]
    blobs = {
        "m": RequestFile("onnx", content, "model"),
        "t": RequestFile("csv", b"a,b", "table.csv"),
    }
    new = NewOperation(
        *(b"request", blobs, "ada", "10.0.0.0", "m", "t", "csv", "r1"),
        labels={"team": "ä"},
        method_names=("firm",),
    )
    operation = store.start("ada", new)
    claim = claimed(store)
    assert store.finish(claim, SUCCEEDED, response=content)

    assert claim.request is not None
    for name in NewOperation.__slots__:
        if name != "blobs":
            assert getattr(claim.request, name) == getattr(new, name)
    restored = {name: astuple(blob) for name, blob in claim.request.blobs.items()}
    assert restored == {name: astuple(blob) for name, blob in blobs.items()}
    assert store.read_response("ada", operation.id, 0, 10 * MIB) == content
    for offset in (1, MIB - 38, 2 * MIB):
        part = store.read_response("ada", operation.id, offset, MIB + 1)
        assert part == content[offset : offset + MIB + 1]


@pytest.mark.parametrize("loss", ["change", "remove", "swap"])
def test_a_damaged_response_is_none(store: RedisOperations, redis_server, loss: str) -> None:
    operations = [store.start("ada", NewOperation(b"a")) for _ in range(2)]
    for _ in operations:
        store.finish(claimed(store), SUCCEEDED, response=b"r" * 2 * MIB)
    of_first = keys(redis_server, f"part:{operations[0].id}")
    of_second = keys(redis_server, f"part:{operations[1].id}")
    admin = redis_server.admin
    match loss:
        case "change":
            admin.setrange(of_first[1], 99, b"x")
        case "remove":
            admin.delete(of_first[1])
        case "swap":
            admin.set(of_first[1], admin.get(of_second[1]))

    assert store.read_response("ada", operations[0].id, 0, 3 * MIB) is None
    assert store.read_response("ada", operations[1].id, 0, 3 * MIB) == b"r" * 2 * MIB


@pytest.mark.parametrize("loss", ["change", "remove", "swap"])
def test_damaged_plans_and_parts_are_left_out(
    store: RedisOperations, redis_server, loss: str
) -> None:
    operation = store.start("ada", NewOperation(b"a"))
    claim, admin = claimed(store), redis_server.admin
    store.keep_plan(claim, b"plan")
    for index in range(2):
        store.keep_part(claim, index, b"part" * MIB)
    plan, first, *_, other = [
        *keys(redis_server, f"part:{operation.id}:attached-plan"),
        *keys(redis_server, f"part:{operation.id}:attached-0"),
        *keys(redis_server, f"part:{operation.id}:attached-1"),
    ]
    for key in (plan, first):
        match loss:
            case "change":
                admin.setrange(key, 50, b"x")
            case "remove":
                admin.delete(key)
            case "swap":
                admin.set(key, admin.get(other))
    shown = store.get("ada", operation.id)

    assert shown is not None
    assert shown.plan == b""
    assert store.read_parts("ada", operation.id) == [b"part" * MIB]


def test_keys_of_replaced_and_dropped_parts_are_deleted(
    store: RedisOperations, redis_server
) -> None:
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    for _ in range(3):
        store.keep_part(claim, 0, b"part" * MIB)
    replaced = keys(redis_server, f"part:{operation.id}:attached")
    store.keep_plan(claim, b"plan")
    store.finish(claim, SUCCEEDED, response=b"r")
    ended = keys(redis_server, f"part:{operation.id}")
    assert not store.keep_part(claim, 0, b"late")
    assert store.delete("ada", operation.id)

    assert len(replaced) == 5  # of 1 MiB with its signature
    assert len(ended) == 2
    assert keys(redis_server, "part") == []


def test_a_damaged_request_is_told_and_a_damaged_record_ends(
    store: RedisOperations, redis_server
) -> None:
    store.start("ada", NewOperation(b"a"))
    for key in keys(redis_server, "part"):
        redis_server.admin.setrange(key, 50, b"x")
    claim = claimed(store)
    store.finish(claim, OperationState.FAILED)
    second = store.start("ada", NewOperation(b"b"))
    record = keys(redis_server, f"record:{second.id}")[0]
    redis_server.admin.hset(record, "record", b"forged")

    assert claim.request is None
    assert store.claim("c") is None
    assert not is_there(store, second)
    assert store.counts().states[OperationState.FAILED] == 2


def test_servers_with_another_secret_see_nothing(
    store: RedisOperations, link: RedisConnection
) -> None:
    operation = store.start("ada", NewOperation(b"a"))
    other = RedisOperations(link, b"another secret of tests")

    assert other.claim("c") is None
    assert other.get("ada", operation.id) is None
    assert claimed(store).operation.id == operation.id


@pytest.mark.parametrize("fault", ["flush", "restart"])
def test_operations_that_redis_loses_are_gone_for_all(
    store: RedisOperations, redis_server, fault: str
) -> None:
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    if fault == "flush":
        redis_server.admin.flushall()
    else:
        redis_server.kill()
        redis_server.start()

    assert not is_there(store, operation)
    assert store.wait("ada", operation.id, 60) is None
    assert store.renew(claim, 1, 2) is Renewal.LOST
    assert not store.finish(claim, SUCCEEDED, response=b"r")
    assert keys(redis_server, "part") == []
    assert store.start("ada", NewOperation(b"a")).id != operation.id


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_without_an_answer_of_redis_every_call_ends_with_an_error(
    redis_server, link_to: Callable[..., RedisConnection], fault: str
) -> None:
    store = RedisOperations(link_to(redis_server.url, pause=0.0, timeout=0.2), KEY)
    patient = RedisOperations(link_to(redis_server.url), KEY)
    operation = patient.start("ada", NewOperation(b"a"))
    claim = claimed(patient)
    getattr(redis_server, fault)()

    for call in (
        lambda: store.start("ada", NewOperation(b"b")),
        lambda: store.get("ada", operation.id),
        lambda: store.list("ada"),
        lambda: store.wait("ada", operation.id, 1_000),
        lambda: store.cancel("ada", operation.id),
        lambda: store.delete("ada", operation.id),
        lambda: store.read_response("ada", operation.id, 0, 1),
        lambda: store.claim("c"),
        lambda: store.renew(claim, 0, 0),
        lambda: store.keep_plan(claim, b"p"),
        lambda: store.keep_part(claim, 0, b"p"),
        lambda: store.read_parts("ada", operation.id),
        lambda: store.finish(claim, SUCCEEDED, response=b"r"),
        lambda: store.release(claim),
        store.counts,
    ):
        with pytest.raises(OperationStoreError):
            call()
    if fault == "freeze":
        redis_server.thaw()


def test_in_a_full_redis_a_response_without_memory_fails_and_all_else_goes_on(
    store: RedisOperations, redis_server
) -> None:
    running, pending = (store.start("ada", NewOperation(bytes([n]))) for n in range(2))
    claim = claimed(store)
    redis_server.fill()

    with pytest.raises(ExplainError) as refused:
        store.start("ada", NewOperation(b"c"))
    assert refused.value.reason is Reason.QUOTA_EXCEEDED
    assert not store.keep_plan(claim, b"p")
    assert not store.keep_part(claim, 0, b"p")
    assert store.renew(claim, 1, 2) is Renewal.OK
    with pytest.raises(ExplainError) as caught:
        store.finish(claim, SUCCEEDED, response=b"r")
    assert caught.value.reason is Reason.QUOTA_EXCEEDED
    assert store.release(claim)
    assert store.finish(claimed(store), OperationState.FAILED, error=b"e")
    failed = store.get("ada", running.id)
    assert failed is not None
    assert failed.error == b"e"
    assert store.cancel("ada", pending.id) is not None
    assert store.delete("ada", pending.id)


def test_a_reply_that_was_lost_is_harmless(store: RedisOperations, redis_server) -> None:
    """Who finishes again, because it does not know whether it has, changes nothing."""
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    assert store.finish(claim, SUCCEEDED, response=b"r")

    assert store.finish(claim, SUCCEEDED, response=b"r")
    assert not store.finish(claim, OperationState.FAILED, error=b"e")
    assert store.read_response("ada", operation.id, 0, 9) == b"r"


def test_evicted_queues_are_repaired_by_whoever_looks(store: RedisOperations, redis_server) -> None:
    running, pending = (store.start("ada", NewOperation(bytes([n]))) for n in range(2))
    claimed(store)
    for key in keys(redis_server):
        if b":record:" not in key and b":part:" not in key:
            redis_server.admin.delete(key)
    assert store.claim("c") is None

    for operation in (running, pending):
        assert is_there(store, operation)
    assert [each.id for each in store.list("ada")[0]] == [pending.id, running.id]
    assert claimed(store).operation.id == pending.id
    assert store.counts().states[OperationState.RUNNING] == 2


def test_nothing_stays_without_a_time_to_live(redis_server, link: RedisConnection) -> None:
    store = RedisOperations(link, KEY, OperationLimits(seconds=100))
    for number in range(3):
        store.start("ada", NewOperation(b"a", request_id=str(number)))
    store.finish(claimed(store), SUCCEEDED, response=b"r")
    claim = claimed(store)
    store.renew(claim, 1, 2)
    store.keep_plan(claim, b"plan")
    store.keep_part(claim, 0, b"part")
    store.release(claim)
    store.release(claimed(store), Release(seconds=5))

    found = keys(redis_server)
    assert len(found) > 12
    for key in found:
        assert 0 < redis_server.admin.pttl(key) <= 1_000_000, key


def test_expired_operations_leave_nothing_behind(redis_server, link: RedisConnection) -> None:
    store = RedisOperations(link, KEY, OperationLimits(seconds=0.2))
    for number in range(250):
        store.start("ada", NewOperation(b"a", request_id=str(number)))
    time.sleep(0.3)
    for _ in range(3):
        store.counts()

    left = {key.rpartition(b":")[2] for key in keys(redis_server)}
    assert left <= {b"number", b"total", b"resumed"}
    assert store.counts().byte_count == 0


def test_the_rights_of_the_chart_s_user_suffice(
    redis_server, link_to: Callable[..., RedisConnection]
) -> None:
    found = re.search(r"rules='(.*)'", RULES.read_text(encoding="utf-8"))
    assert found is not None
    redis_server.admin.execute_command(
        "ACL", "SETUSER", "ours", "reset", "on", ">pw", *found[1].split()
    )
    store = RedisOperations(link_to(redis_server.url.replace("//", "//ours:pw@")), KEY)
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    assert store.renew(claim, 1, 2) is Renewal.OK
    assert store.keep_plan(claim, b"")
    assert store.keep_part(claim, 0, b"part")
    assert store.read_parts("ada", operation.id) == [b"part"]
    assert store.release(claim)
    assert store.finish(claimed(store), SUCCEEDED, response=b"r")
    assert store.list("ada")[0][0].id == operation.id
    assert store.counts().byte_count == 1
    assert store.delete("ada", operation.id)
