"""Quotas: a sliding window of minutes, in memory and by a model of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.core.quotas import BUCKET_SECONDS, Reservation, Shortage

HOUR = 3_600.0
LIMIT = 100


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def reserved(quotas: MemoryQuotas, amount: int, key: str = "ada") -> Reservation:
    reply = quotas.reserve(key, amount, LIMIT)
    assert isinstance(reply, Reservation), reply
    return reply


def refused(quotas: MemoryQuotas, amount: int, key: str = "ada") -> Shortage:
    reply = quotas.reserve(key, amount, LIMIT)
    assert isinstance(reply, Shortage), reply
    return reply


def test_what_fits_exactly_is_reserved_and_one_more_is_not() -> None:
    quotas = MemoryQuotas(Clock())
    reserved(quotas, 60)
    reserved(quotas, 40)

    assert refused(quotas, 1).used == 100


def test_keys_share_nothing() -> None:
    quotas = MemoryQuotas(Clock())
    reserved(quotas, 100)

    reserved(quotas, 100, "bob")


def test_there_is_room_at_the_time_that_was_told_and_not_before() -> None:
    clock = Clock()
    quotas = MemoryQuotas(clock)
    reserved(quotas, 50)
    clock.now += 600
    reserved(quotas, 50)
    seconds = refused(quotas, 30).seconds
    later = refused(quotas, 60).seconds

    assert HOUR - 600 <= seconds <= HOUR - 600 + BUCKET_SECONDS
    assert later == pytest.approx(seconds + 600)
    clock.now += seconds - 1
    refused(quotas, 30)
    clock.now += 1
    reserved(quotas, 30)


def test_an_amount_above_the_limit_never_has_room() -> None:
    assert refused(MemoryQuotas(Clock()), LIMIT + 1).seconds == math.inf


def test_what_was_not_used_is_given_back_and_more_than_reserved_counts() -> None:
    quotas = MemoryQuotas(Clock())
    quotas.settle("ada", reserved(quotas, 90), 10)
    assert quotas.used("ada") == 10
    quotas.settle("ada", reserved(quotas, 10), 500)
    assert quotas.used("ada") == 510


def test_a_reservation_that_has_left_the_window_gives_nothing_back() -> None:
    clock = Clock()
    quotas = MemoryQuotas(clock)
    old = reserved(quotas, 90)
    clock.now += 2 * HOUR
    quotas.settle("ada", old, 40)

    assert quotas.used("ada") == 40


class Window(RuleBasedStateMachine):
    """A list of what was used and when, beside the buckets."""

    reservations = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.quotas = MemoryQuotas(self.clock)
        self.entries: list[tuple[float, int]] = []

    def counted(self, now: float) -> int:
        """What lies in the current minute and the 60 whole ones before it."""
        oldest = (now // BUCKET_SECONDS - 60) * BUCKET_SECONDS
        return sum(amount for time, amount in self.entries if time >= oldest)

    @rule(seconds=st.floats(0, 2_000))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(target=reservations, amount=st.integers(0, 2 * LIMIT))
    def reserve(self, amount: int):
        before = self.counted(self.clock.now)
        reply = self.quotas.reserve("ada", amount, LIMIT)
        if isinstance(reply, Reservation):
            assert before + amount <= LIMIT
            entry = (self.clock.now, amount)
            self.entries.append(entry)
            return reply, entry
        assert before + amount > LIMIT
        assert reply.used == before
        if reply.seconds < math.inf:
            then = self.clock.now + reply.seconds
            assert self.counted(then + 1e-6) + amount <= LIMIT
            assert self.counted(then - 1) + amount > LIMIT
        return None, None

    @rule(pair=consumes(reservations), used=st.integers(0, 2 * LIMIT))
    def settle(self, pair, used: int) -> None:
        reservation, entry = pair
        if reservation is None:
            return
        self.quotas.settle("ada", reservation, used)
        self.entries.remove(entry)
        self.entries.append((self.clock.now, used))

    @invariant()
    def counts_agree(self) -> None:
        assert self.quotas.used("ada") == self.counted(self.clock.now)


TestWindow = Window.TestCase
