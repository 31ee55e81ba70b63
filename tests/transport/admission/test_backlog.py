"""Waiting work: how its seconds are estimated, and when a refused request should come back."""

from __future__ import annotations

import math
import threading

import pytest
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.backlog import Backlog
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.admission.work_estimates import WorkEstimates, WorkKey

ADA = ("ada", "")


class Clock:
    """Monotonic time that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def work(seconds: float, backlog: Backlog | None = None, caller: str = "ada") -> WorkKey:
    """Work that has always taken so long."""
    key = WorkKey((caller, ""), "explain", round(1_000 * seconds), (str(seconds),))
    if backlog is not None:
        backlog._estimates.learn(key, seconds)
    return key


def ticket(key: WorkKey | None, caller: str = "ada") -> Ticket:
    made = Ticket(Caller(caller, math.inf, lambda: False), threading.RLock())
    made.work = key
    return made


def waiting(backlog: Backlog, *seconds: float) -> None:
    for each in seconds:
        backlog.add(ticket(work(each, backlog)))


def test_an_estimate_follows_the_newest_measurements() -> None:
    estimates = WorkEstimates()
    for seconds in [1.0] * 5 + [3.0] * 40:
        estimates.learn(work(1.0), seconds)

    seconds, is_known = estimates.expect(work(1.0))
    assert seconds == pytest.approx(3.0, abs=0.01)
    assert is_known


def test_the_same_question_is_known_apart_from_others_about_the_same_model() -> None:
    estimates = WorkEstimates()
    small, large = (WorkKey(ADA, "explain", 200, ("x",), "m", name) for name in (b"a", b"b"))
    estimates.learn(small, 0.1)
    estimates.learn(large, 90.0)

    assert estimates.expect(small) == (0.1, True)
    assert estimates.expect(large) == (90.0, True)


def test_another_question_of_the_same_methods_and_model_is_expected_to_be_alike() -> None:
    estimates = WorkEstimates()
    estimates.learn(WorkKey(ADA, "explain", 200, ("x",), "m", b"a"), 7.0)

    assert estimates.expect(WorkKey(ADA, "explain", 210, ("x",), "m", b"b")) == (7.0, True)


def test_what_is_unknown_counts_as_short_whatever_its_caller_asked_before() -> None:
    estimates = WorkEstimates()
    estimates.learn(WorkKey(ADA, "explain", 200, ("x",)), 90.0)

    assert estimates.expect(WorkKey(ADA, "explain", 5_000, ("y",))) == (1.0, False)
    assert estimates.expect(WorkKey(("bob", ""), "explain")).is_measured is False


def test_no_caller_fills_the_memory_of_estimates() -> None:
    estimates = WorkEstimates()
    for number in range(10_000):
        estimates.learn(WorkKey(ADA, str(number)), 1.0)

    assert len(estimates._means) < 5_000


def test_short_work_has_room_behind_any_long_work() -> None:
    backlog = Backlog(2, seconds_limit=30.0)
    waiting(backlog, *[600.0] * 5, *[0.1] * 200)

    assert backlog.seconds() == pytest.approx((5 * 600 + 20) / 2)
    assert backlog.has_room(ticket(work(0.1, backlog)))
    assert not backlog.has_room(ticket(work(5.0, backlog)))


def test_short_work_has_no_room_behind_too_much_short_work() -> None:
    backlog = Backlog(2, seconds_limit=30.0)
    waiting(backlog, *[0.5] * 119)
    assert backlog.has_room(ticket(work(0.5, backlog)))

    waiting(backlog, 0.5)

    assert not backlog.has_room(ticket(work(0.5, backlog)))


def test_as_many_as_can_run_may_wait_however_long_they_take() -> None:
    backlog = Backlog(2, seconds_limit=1.0)
    waiting(backlog, 600.0)

    assert backlog.has_room(ticket(work(600.0, backlog)))


def test_what_runs_for_longer_than_expected_tells_how_long_its_like_takes() -> None:
    clock = Clock()
    backlog = Backlog(1, 30.0, clock)
    backlog.begin(ticket(work(0.1, backlog)))
    backlog.add(ticket(work(0.1)))
    clock.now += 50.0

    assert backlog.seconds() == pytest.approx(50.0)
    assert backlog.long_running_count() == 1


def test_operations_that_wait_keep_no_request_out() -> None:
    backlog = Backlog(1, 30.0)
    for _ in range(9):
        backlog.add(ticket(None))

    assert backlog.seconds() == 0.0


def test_time_without_a_slot_is_no_work() -> None:
    clock = Clock()
    backlog = Backlog(1, 30.0, clock)
    asked = ticket(work(1.0))
    for seconds in (2.0, 3.0):
        backlog.begin(asked)
        clock.now += seconds
        backlog.pause(asked)
        clock.now += 60.0
    backlog.learn(asked)

    assert backlog.estimate(asked).seconds == pytest.approx(5.0)


def test_the_refused_are_told_to_come_back_one_after_the_other() -> None:
    backlog = Backlog(2, 30.0, Clock())
    waiting(backlog, *[10.0] * 8)
    refused = ticket(work(10.0))

    found = [backlog.retry_seconds(refused) for _ in range(3)]

    # 80 s of work are 10 s too much for two slots; each that comes back takes 5 s of both.
    assert found == pytest.approx([15.0, 20.0, 25.0])


def test_who_does_not_come_back_delays_others_for_a_while_only() -> None:
    clock = Clock()
    backlog = Backlog(1, 30.0, clock)
    refused = ticket(work(10.0, backlog))
    for _ in range(100):
        assert backlog.retry_seconds(refused) <= 60.0
    clock.now += 100.0

    assert backlog.retry_seconds(refused) == pytest.approx(10.0)
