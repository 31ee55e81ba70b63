"""Stores of operations, in memory and in a real Redis: turns, leases, room and time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import redis
from onnxplain_server.adapters.storage.operations import redis_operation_scripts
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operation_store import Claim, OperationStore, Release, Renewal
from onnxplain_server.core.operations import NewOperation, OperationLimits, OperationState
from onnxplain_server.core.request import RequestFile

SUCCEEDED, FAILED = OperationState.SUCCEEDED, OperationState.FAILED
SECRET = b"secret of the tests"


class Clock:
    """Time that passes when a test says so."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class RedisClock(Clock):
    """The same, which the scripts read in Redis."""

    def __init__(self, admin: redis.Redis) -> None:
        self._admin = admin
        self.advance(0)

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self._admin.set("test-clock", self.now)


@pytest.fixture(params=["memory", "redis"])
def make_store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., OperationStore]:
    """Make stores by their limits, which share a clock; the fixture `clock` has it."""
    if request.param == "memory":
        clock = Clock()
        request.node.clock = clock
        return lambda **limits: MemoryOperations(OperationLimits(**limits), clock)
    text = redis_operation_scripts._text
    server, link = (request.getfixturevalue(name) for name in ("redis_server", "link"))
    request.node.clock = RedisClock(server.admin)
    monkeypatch.setattr(
        redis_operation_scripts,
        "_text",
        lambda name: text(name).replace("call('TIME')", "{call('GET', 'test-clock'), 0}"),
    )
    return lambda **limits: RedisOperations(link, SECRET, OperationLimits(**limits))


@pytest.fixture
def clock(make_store, request: pytest.FixtureRequest) -> Clock:
    found: Clock = request.node.clock
    return found


def claimed(store: OperationStore) -> Claim:
    claim = store.claim("c")
    assert claim is not None
    return claim


def finish_next(store: OperationStore, response: bytes = b"r") -> str:
    claim = claimed(store)
    assert store.finish(claim, SUCCEEDED, response=response)
    return claim.operation.owner


def test_an_operation_is_computed_once_and_its_response_read_by_its_owner(make_store) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"request", labels={"team": "a"}))
    claim = claimed(store)

    assert claim.request is not None
    assert claim.request.request == b"request"
    assert store.claim("other") is None
    assert store.renew(claim, 3, 10) is Renewal.OK
    running = store.get("ada", operation.id)
    assert store.finish(claim, SUCCEEDED, response=b"response")
    ended = store.get("ada", operation.id)

    assert running is not None
    assert ended is not None
    assert (running.state, running.done, running.planned) == (OperationState.RUNNING, 3, 10)
    assert (ended.state, ended.response_byte_count) == (SUCCEEDED, 8)
    assert ended.labels == {"team": "a"}
    assert store.read_response("ada", operation.id, 3, 2) == b"po"
    assert store.get("bob", operation.id) is None
    assert store.read_response("bob", operation.id, 0, 9) is None
    assert not store.delete("bob", operation.id)
    assert store.cancel("bob", operation.id) is None


def test_owners_take_turns_however_many_one_has(make_store) -> None:
    store = make_store()
    for _ in range(5):
        store.start("ada", NewOperation(b"a"))
    for _ in range(2):
        store.start("bob", NewOperation(b"b"))

    assert [finish_next(store) for _ in range(7)] == ["ada", "bob", "ada", "bob", *["ada"] * 3]


def test_a_caller_with_running_operations_waits_for_those_without(make_store) -> None:
    store = make_store(running_count=2)
    for _ in range(4):
        store.start("ada", NewOperation(b"a"))
    first = [claimed(store).operation.owner for _ in range(2)]
    store.start("bob", NewOperation(b"b"))

    assert first == ["ada", "ada"]
    assert claimed(store).operation.owner == "bob"
    assert store.claim("c") is None


def test_the_claim_of_a_silent_consumer_is_taken_over_and_changes_nothing(
    make_store, clock: Clock
) -> None:
    store = make_store(lease_seconds=10)
    operation = store.start("ada", NewOperation(b"a"))
    lost = claimed(store)
    clock.advance(9)
    assert store.renew(lost, 1, 2) is Renewal.OK
    clock.advance(9)
    assert store.claim("other") is None
    clock.advance(1)
    second = claimed(store)

    assert second.token > lost.token
    assert second.operation.attempt_count == 2
    assert store.renew(lost, 2, 2) is Renewal.LOST
    assert not store.finish(lost, SUCCEEDED, response=b"lost")
    assert not store.release(lost)
    assert store.finish(second, SUCCEEDED, response=b"kept")
    assert store.read_response("ada", operation.id, 0, 99) == b"kept"
    assert not store.finish(second, FAILED, error=b"late")
    assert store.counts().resumed_count == 1


def test_a_released_operation_is_next_and_counts_an_attempt_where_told(make_store) -> None:
    store = make_store()
    first = store.start("ada", NewOperation(b"a")).id
    store.start("ada", NewOperation(b"b"))
    assert store.release(claimed(store))
    again = claimed(store)

    assert (again.operation.id, again.operation.attempt_count) == (first, 1)
    assert store.release(again, Release(is_crash=True))
    crashed = claimed(store)
    assert (crashed.operation.attempt_count, crashed.operation.crash_count) == (2, 1)
    assert store.release(crashed, Release(is_counted=True))
    counted = claimed(store)
    assert (counted.operation.attempt_count, counted.operation.crash_count) == (3, 1)


def test_equal_requests_with_one_id_are_one_operation(make_store) -> None:
    store = make_store()
    first = store.start("ada", NewOperation(b"a", request_id="x"))

    assert store.start("ada", NewOperation(b"a", request_id="x")).id == first.id
    assert store.start("bob", NewOperation(b"b", request_id="x")).id != first.id
    with pytest.raises(ExplainError) as caught:
        store.start("ada", NewOperation(b"b", request_id="x"))
    assert caught.value.reason is Reason.REQUEST_ID_IN_USE
    assert store.start("ada", NewOperation(b"a")).id != store.start("ada", NewOperation(b"a")).id


def test_cancelling_ends_a_pending_operation_and_is_told_to_a_running_one(make_store) -> None:
    store = make_store()
    running = store.start("ada", NewOperation(b"a"))
    pending = store.start("ada", NewOperation(b"b"))
    claim = claimed(store)
    for operation in (running, pending):
        store.cancel("ada", operation.id)
    ended = store.get("ada", pending.id)

    assert ended is not None
    assert ended.state is OperationState.CANCELLED
    assert store.claim("c") is None
    assert store.renew(claim, 0, 0) is Renewal.CANCEL
    assert store.finish(claim, OperationState.CANCELLED)


def test_deleting_a_running_operation_ends_its_claim(make_store) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)

    assert store.delete("ada", operation.id)
    assert store.renew(claim, 0, 0) is Renewal.LOST
    assert not store.finish(claim, SUCCEEDED, response=b"r")
    assert store.counts().byte_count == 0


def test_pages_are_newest_first_and_complete(make_store) -> None:
    store = make_store()
    ids = [store.start("ada", NewOperation(b"a")).id for _ in range(5)]
    store.start("bob", NewOperation(b"b"))
    first, token = store.list("ada", page_size=2)
    second, after = store.list("ada", lambda each: each.id != ids[1], 2, token)

    assert [each.id for each in (*first, *second)] == [ids[4], ids[3], ids[2], ids[0]]
    assert after == ""
    for owner, query, other in (
        ("ada", "", "x"),
        ("ada", "", "4"),
        ("ada", "", f"{'A' if token[0] != 'A' else 'B'}{token[1:]}"),
        ("ada", "", f"{token}AAAA"),
        ("bob", "", token),
        ("ada", "done = true", token),
    ):
        with pytest.raises(ExplainError, match="page_token"):
            store.list(owner, lambda _each: True, 2, other, query=query)


def test_new_bytes_displace_the_oldest_response_of_the_owner_with_most(make_store) -> None:
    store = make_store(byte_count=100)
    small = store.start("bob", NewOperation(b"b" * 10)).id
    finish_next(store, b"r" * 10)
    large = [store.start("ada", NewOperation(b"a")).id for _ in range(2)]
    for _ in large:
        finish_next(store, b"r" * 40)
    store.start("bob", NewOperation(b"b", {"id": RequestFile("onnx", b"m" * 30)}))

    assert store.get("ada", large[0]) is None
    assert store.get("ada", large[1]) is not None
    assert store.get("bob", small) is not None
    assert store.counts().byte_count == 81
    with pytest.raises(ExplainError) as caught:
        store.start("ada", NewOperation(b"a" * 101))
    assert caught.value.reason is Reason.QUOTA_EXCEEDED


def test_bytes_of_operations_that_have_not_ended_are_never_displaced(make_store) -> None:
    store = make_store(byte_count=100)
    store.start("ada", NewOperation(b"a" * 90))
    claim = claimed(store)

    with pytest.raises(ExplainError, match="bytes"):
        store.start("bob", NewOperation(b"b" * 20))
    # The request is dropped as the response comes.
    assert store.finish(claim, SUCCEEDED, response=b"r" * 100)
    store.start("cyd", NewOperation(b"c"))
    with pytest.raises(ExplainError, match="bytes"):
        store.finish(claimed(store), SUCCEEDED, response=b"r" * 101)


def test_a_caller_keeps_so_many_operations(make_store) -> None:
    store = make_store(kept_count=2)
    ids = [store.start("ada", NewOperation(b"a")).id for _ in range(2)]

    with pytest.raises(ExplainError) as caught:
        store.start("ada", NewOperation(b"a"))
    assert caught.value.reason is Reason.QUOTA_EXCEEDED
    store.start("bob", NewOperation(b"b"))
    store.delete("ada", ids[0])
    store.start("ada", NewOperation(b"a"))


def test_ended_operations_expire(make_store, clock: Clock) -> None:
    store = make_store(seconds=100)
    operation = store.start("ada", NewOperation(b"a"))
    clock.advance(90)
    finish_next(store)
    clock.advance(90)
    assert store.get("ada", operation.id) is not None
    clock.advance(11)

    assert store.get("ada", operation.id) is None
    assert store.list("ada") == ([], "")
    assert store.counts().byte_count == 0


def test_waiting_ends_with_the_operation(make_store) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"a"))
    early = store.wait("ada", operation.id, 0.01)
    thread = threading.Thread(target=finish_next, args=(store,))
    thread.start()
    ended = store.wait("ada", operation.id, 120)
    thread.join()

    assert early is not None
    assert ended is not None
    assert (early.state, ended.state) == (OperationState.PENDING, SUCCEEDED)


def test_counts_tell_the_age_of_the_oldest_pending_operation(make_store, clock: Clock) -> None:
    store = make_store()
    for _ in range(2):
        store.start("ada", NewOperation(b"a"))
        clock.advance(5)
    before = store.counts()
    claimed(store)
    after = store.counts()

    assert before.oldest_pending_seconds == 10
    assert after.oldest_pending_seconds == 5
    assert after.states[OperationState.RUNNING] == after.states[OperationState.PENDING] == 1


def test_a_plan_stays_with_its_operation_and_out_of_lists(make_store) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"a", request_id="x"))
    assert store.keep_plan(claimed(store), b"plan")
    shown = [
        store.get("ada", operation.id),
        store.wait("ada", operation.id, 0),
        store.start("ada", NewOperation(b"a", request_id="x")),
    ]
    [listed], _ = store.list("ada")

    assert [each and each.plan for each in shown] == [b"plan"] * 3
    assert listed.plan == b""
    assert store.counts().byte_count == 5


def test_a_later_attempt_has_the_plan_and_the_parts_of_those_before(
    make_store, clock: Clock
) -> None:
    store = make_store(lease_seconds=10)
    operation = store.start("ada", NewOperation(b"a"))
    first = claimed(store)
    assert store.keep_plan(first, b"plan")
    assert store.keep_part(first, 10, b"eleventh")
    assert store.keep_part(first, 2, b"third, of few rows")
    clock.advance(10)
    second = claimed(store)

    assert not store.keep_plan(first, b"late")
    assert not store.keep_part(first, 2, b"late")
    assert store.keep_part(second, 2, b"third")
    assert second.operation.plan == b"plan"
    assert store.read_parts("ada", operation.id) == [b"third", b"eleventh"]
    assert store.read_parts("bob", operation.id) is None
    shown = store.get("ada", operation.id)
    assert shown is not None
    assert (shown.plan, shown.part_count) == (b"plan", 3)


@pytest.mark.parametrize(
    ("state", "parts"),
    [(SUCCEEDED, []), (FAILED, [b"part"]), (OperationState.CANCELLED, [b"part"])],
)
def test_parts_are_kept_where_there_is_no_answer(make_store, state, parts) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    store.keep_part(claim, 0, b"part")
    assert store.finish(claim, state, response=b"r" * (state is SUCCEEDED))

    assert store.read_parts("ada", operation.id) == parts
    assert store.counts().byte_count == (1 if state is SUCCEEDED else 4)


def test_parts_of_a_cancelled_pending_operation_are_kept(make_store) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    store.keep_part(claim, 0, b"part")
    store.release(claim)
    store.cancel("ada", operation.id)

    assert store.read_parts("ada", operation.id) == [b"part"]
    assert store.counts().byte_count == 4
    assert store.delete("ada", operation.id)
    assert store.counts().byte_count == 0


def test_parts_go_where_others_need_the_room_and_their_operations_stay(make_store) -> None:
    store = make_store(byte_count=100)
    failed = store.start("ada", NewOperation(b"a"))
    claim = claimed(store)
    assert store.keep_part(claim, 0, b"p" * 50)
    store.finish(claim, FAILED, error=b"e")
    running = store.start("ada", NewOperation(b"b"))
    claim = claimed(store)
    assert store.keep_part(claim, 0, b"p" * 40)
    store.start("bob", NewOperation(b"b" * 20))
    first = [store.read_parts("ada", each.id) for each in (failed, running)]
    store.start("bob", NewOperation(b"b" * 70))
    second = store.read_parts("ada", running.id)

    assert first == [[], [b"p" * 40]]
    assert second == []
    assert (store.get("ada", failed.id) or failed).error == b"e"
    assert not store.keep_part(claim, 0, b"p" * 20)
    assert store.keep_part(claim, 0, b"p" * 9)
    assert store.counts().byte_count == 100


def test_an_operation_that_is_put_back_for_some_time_takes_its_old_place_then(
    make_store, clock: Clock
) -> None:
    store = make_store()
    first, second, third = (store.start("ada", NewOperation(bytes([n]))).id for n in range(3))
    assert store.release(claimed(store), Release(seconds=10))
    assert store.release(claimed(store), Release(seconds=5))
    others = [claimed(store).operation.id]
    none = store.claim("c")
    clock.advance(4)
    assert store.claim("c") is None
    clock.advance(6)
    returned = [claimed(store).operation for _ in range(2)]

    assert (others, none) == ([third], None)
    assert [each.id for each in returned] == [first, second]
    assert [each.attempt_count for each in returned] == [1, 1]


def test_an_operation_that_waits_can_be_cancelled(make_store, clock: Clock) -> None:
    store = make_store()
    operation = store.start("ada", NewOperation(b"a"))
    assert store.release(claimed(store), Release(seconds=10))
    pending = store.counts().states[OperationState.PENDING]
    store.cancel("ada", operation.id)
    clock.advance(10)

    assert pending == 1
    assert store.claim("c") is None
    assert store.counts().states[OperationState.CANCELLED] == 1
