"""States of operations against a model of them: two replicas' stores on one Redis, in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)
from onnxplain_server.adapters.storage.operations import redis_operation_scripts
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operation_store import Claim, OperationStore, Release, Renewal
from onnxplain_server.core.operations import NewOperation, OperationLimits, OperationState

PENDING, RUNNING, SUCCEEDED = (
    OperationState.PENDING,
    OperationState.RUNNING,
    OperationState.SUCCEEDED,
)
LEASE, KEPT, RUNNING_LIMIT, SECONDS = 10, 4, 2, 10_000

OWNERS = st.sampled_from(["ada", "bob"])
STORES = st.integers(0, 1)


@dataclass
class Expected:
    """What the model says of an operation."""

    owner: str
    request: bytes
    request_id: str
    number: int
    state: OperationState = PENDING
    claims: list[int] = field(default_factory=list)
    lease_end: float = 0.0
    attempts: int = 0
    crashes: int = 0
    is_cancelled: bool = False
    response: bytes = b""
    plan: bytes = b""
    parts: dict[int, bytes] = field(default_factory=dict)
    part_count: int = 0
    return_time: float = 0.0
    place: tuple[int, int] = (0, 0)


class OperationStates(RuleBasedStateMachine):
    """Rules that a replica or a caller may follow at any time; the model checks each answer."""

    known = Bundle("known")
    claims = Bundle("claims")

    stores: tuple[OperationStore, ...] = ()
    admin: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.admin.flushall()
        self.now = 1_000.0
        self.expected: dict[str, Expected] = {}
        self.turns: dict[str, int] = {}
        self.count = 0
        self.pass_time(0)

    @rule(seconds=st.sampled_from([1, LEASE]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.admin.set("test-clock", self.now)

    @rule(
        target=known,
        store=STORES,
        owner=OWNERS,
        request=st.sampled_from([b"a", b"b"]),
        request_id=st.sampled_from(["", "x"]),
    )
    def start(self, store: int, owner: str, request: bytes, request_id: str) -> str:
        own = self.of(owner)
        earlier = [i for i, e in own.items() if request_id and e.request_id == request_id]
        reason = None
        if earlier and own[earlier[0]].request != request:
            reason = Reason.REQUEST_ID_IN_USE
        elif not earlier and len(own) == KEPT:
            reason = Reason.QUOTA_EXCEEDED
        new = NewOperation(request, request_id=request_id)
        if reason is not None:
            with pytest.raises(ExplainError) as caught:
                self.stores[store].start(owner, new)
            assert caught.value.reason is reason
            return ""
        found = self.stores[store].start(owner, new)
        if earlier:
            assert found.id == earlier[0]
        else:
            self.count += 1
            place = (0, self.count)
            self.expected[found.id] = Expected(owner, request, request_id, self.count, place=place)
        return found.id

    @rule(target=claims, store=STORES)
    def claim(self, store: int) -> Claim | None:
        return self.claimed(store)

    @rule(target=claims, store=STORES)
    def take_over(self, store: int) -> Claim | None:
        """Whoever computes falls silent, and is late with all that it says from now on."""
        self.pass_time(LEASE)
        return self.claimed(store)

    def claimed(self, store: int) -> Claim | None:
        """Claim an operation, which must be the one that the model hands out."""
        claim = self.stores[store].claim(str(store))
        abandoned = {
            i for i, e in self.expected.items() if e.state is RUNNING and e.lease_end <= self.now
        }
        if abandoned:
            assert claim is not None
            assert claim.operation.id in abandoned
        else:
            assert (None if claim is None else claim.operation.id) == self.next_in_turn()
        if claim is None:
            return None
        expected = self.expected[claim.operation.id]
        assert claim.request is not None
        assert claim.request.request == expected.request
        assert claim.token > max(expected.claims, default=0)
        assert claim.operation.plan == expected.plan
        expected.claims.append(claim.token)
        expected.state, expected.lease_end = RUNNING, self.now + LEASE
        expected.attempts += 1
        if not abandoned:
            self.count += 1
            self.turns[expected.owner] = self.count
        return claim

    def next_in_turn(self) -> str | None:
        """Return the id that the model hands out next."""
        ranks = {}
        for i, e in self.expected.items():
            count = sum(o.state is RUNNING for o in self.of(e.owner).values())
            if self.is_ready(e) and count < RUNNING_LIMIT:
                head = min(o.place for o in self.of(e.owner).values() if self.is_ready(o))
                if e.place == head:
                    ranks[i] = (count, self.turns.get(e.owner, 0))
        if not ranks:
            return None
        # The first of equals is the oldest.
        return min(ranks, key=ranks.__getitem__)

    def is_ready(self, expected: Expected) -> bool:
        return expected.state is PENDING and expected.return_time <= self.now

    @rule(store=STORES, claim=claims, plan=st.sampled_from([b"", b"plan", b"longer plan"]))
    def keep_plan(self, store: int, claim: Claim | None, plan: bytes) -> None:
        if claim is None:
            return
        is_kept = self.stores[store].keep_plan(claim, plan)
        expected = self.held(claim)
        assert is_kept == (expected is not None)
        if expected is not None:
            expected.plan = plan

    @rule(
        store=STORES,
        claim=claims,
        index=st.sampled_from([0, 1, 10]),
        part=st.sampled_from([b"few rows", b"all of the rows"]),
    )
    def keep_part(self, store: int, claim: Claim | None, index: int, part: bytes) -> None:
        if claim is None:
            return
        is_kept = self.stores[store].keep_part(claim, index, part)
        expected = self.held(claim)
        assert is_kept == (expected is not None)
        if expected is not None:
            expected.parts[index] = part
            expected.part_count += 1

    @rule(store=STORES, claim=claims)
    def renew(self, store: int, claim: Claim | None) -> None:
        if claim is None:
            return
        answer = self.stores[store].renew(claim, 3, 10)
        expected = self.held(claim)
        if expected is None:
            assert answer is Renewal.LOST
        else:
            assert answer is (Renewal.CANCEL if expected.is_cancelled else Renewal.OK)
            expected.lease_end = self.now + LEASE

    @rule(
        store=STORES,
        claim=consumes(claims),
        state=st.sampled_from([SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED]),
    )
    def finish(self, store: int, claim: Claim | None, state: OperationState) -> None:
        if claim is None:
            return
        response = f"answer {claim.token}".encode() if state is SUCCEEDED else b""
        is_ended = self.stores[store].finish(claim, state, response=response, error=b"e")
        expected = self.held(claim)
        assert is_ended == (expected is not None)
        if expected is not None:
            expected.state, expected.response = state, response
            if state is SUCCEEDED:
                expected.parts = {}

    @rule(
        store=STORES,
        claim=consumes(claims),
        is_counted=st.booleans(),
        is_crash=st.booleans(),
        seconds=st.sampled_from([0, 5]),
    )
    def release(
        self, store: int, claim: Claim | None, is_counted: bool, is_crash: bool, seconds: float
    ) -> None:
        if claim is None:
            return
        how = Release(is_counted, is_crash, seconds)
        is_released = self.stores[store].release(claim, how)
        expected = self.held(claim)
        assert is_released == (expected is not None)
        if expected is not None:
            self.count += 1
            expected.state = PENDING
            expected.place = (0, expected.number) if seconds else (-self.count, 0)
            expected.return_time = self.now + seconds
            expected.attempts -= not (is_counted or is_crash)
            expected.crashes += is_crash

    @rule(store=STORES, name=known, owner=OWNERS)
    def cancel(self, store: int, name: str, owner: str) -> None:
        found = self.stores[store].cancel(owner, name)
        expected = self.of(owner).get(name)
        assert (found is None) == (expected is None)
        if expected is not None and not expected.state.is_terminal:
            expected.is_cancelled = True
            if expected.state is PENDING:
                expected.state = OperationState.CANCELLED

    @rule(store=STORES, name=known, owner=OWNERS)
    def delete(self, store: int, name: str, owner: str) -> None:
        is_known = name in self.of(owner)
        assert self.stores[store].delete(owner, name) == is_known
        if is_known:
            del self.expected[name]
            if not self.of(owner):
                self.turns.pop(owner, None)

    @invariant()
    def both_stores_show_what_is_expected(self) -> None:
        for store in self.stores:
            for owner in ("ada", "bob"):
                own = self.of(owner)
                listed, _ = store.list(owner)
                assert [each.id for each in listed] == list(own)[::-1]
                for each in listed:
                    self.check(store, each, own[each.id])
        counts = self.stores[0].counts()
        for state, count in counts.states.items():
            assert count == sum(e.state is state for e in self.expected.values())
        kept = (
            len(e.response if e.state.is_terminal else e.request)
            + len(e.plan)
            + sum(map(len, e.parts.values()))
            for e in self.expected.values()
        )
        assert counts.byte_count == sum(kept)

    def check(self, store: OperationStore, found: Any, expected: Expected) -> None:
        """Compare an operation with its model."""
        assert found.state is expected.state
        assert found.attempt_count == expected.attempts
        assert found.crash_count == expected.crashes
        assert found.is_cancel_requested == expected.is_cancelled
        shown = store.get(expected.owner, found.id)
        assert shown is not None
        assert (found.plan, shown.plan) == (b"", expected.plan)
        assert found.part_count == expected.part_count
        parts = [part for _, part in sorted(expected.parts.items())]
        assert store.read_parts(expected.owner, found.id) == parts
        response = store.read_response(expected.owner, found.id, 0, 99)
        assert response == (expected.response if expected.state is SUCCEEDED else None)

    def of(self, owner: str) -> dict[str, Expected]:
        """Return the operations of an owner, oldest first."""
        return {i: e for i, e in self.expected.items() if e.owner == owner}

    def held(self, claim: Claim) -> Expected | None:
        """Return the operation of a claim that holds."""
        expected = self.expected.get(claim.operation.id)
        if expected is None or expected.state is not RUNNING:
            return None
        return expected if expected.claims[-1] == claim.token else None


def test_two_replicas_agree_with_the_model(
    redis_server, link_to: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = redis_operation_scripts._text
    clock = "{call('GET', 'test-clock'), 0}"
    monkeypatch.setattr(
        redis_operation_scripts, "_text", lambda name: text(name).replace("call('TIME')", clock)
    )
    limits = OperationLimits(
        seconds=SECONDS, kept_count=KEPT, running_count=RUNNING_LIMIT, lease_seconds=LEASE
    )
    stores = tuple(
        RedisOperations(link_to(redis_server.url), b"secret of the tests", limits) for _ in range(2)
    )
    monkeypatch.setattr(OperationStates, "stores", stores)
    monkeypatch.setattr(OperationStates, "admin", redis_server.admin)

    run_state_machine_as_test(
        OperationStates, settings=settings(max_examples=15, stateful_step_count=50)
    )
