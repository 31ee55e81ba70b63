"""Circuit breaker: opens at a failure, and lets one trial through per pause."""

from __future__ import annotations

import threading

import pytest
from onnxplain_server.adapters.storage.circuit_breaker import CircuitBreaker


class Clock:
    """A clock that is moved by hand."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(pause=5.0, clock=clock)


def test_while_nothing_fails_every_asker_is_let_through(breaker: CircuitBreaker) -> None:
    assert [breaker.allows() for _ in range(3)] == [True, True, True]


def test_the_first_failure_stops_all_askers_for_the_pause(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    breaker.fail()

    clock.now += 4.999

    assert not breaker.allows()


def test_after_the_pause_one_asker_tries_for_all(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.fail()
    clock.now += 5

    assert [breaker.allows() for _ in range(3)] == [True, False, False]


def test_a_trial_that_succeeds_lets_everybody_through(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    breaker.fail()
    clock.now += 5
    breaker.allows()

    breaker.succeed()

    assert [breaker.allows() for _ in range(3)] == [True, True, True]


def test_a_trial_that_fails_begins_another_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.fail()
    clock.now += 5
    breaker.allows()
    clock.now += 0.25

    breaker.fail()

    clock.now += 4.999
    assert not breaker.allows()
    clock.now += 0.001
    assert breaker.allows()


def test_a_trial_that_never_ends_does_not_keep_the_next_one_away(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    breaker.fail()
    clock.now += 5
    breaker.allows()

    clock.now += 5

    assert breaker.allows()


def test_changes_are_told_once(breaker: CircuitBreaker) -> None:
    assert [breaker.fail(), breaker.fail()] == [True, False]
    assert [breaker.succeed(), breaker.succeed()] == [True, False]


def test_of_many_threads_one_is_the_trial(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.fail()
    clock.now += 5
    allowed: list[bool] = []
    threads = [threading.Thread(target=lambda: allowed.append(breaker.allows())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(allowed) == 1
