"""Single-flight in one process: one of several equal requests computes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from onnxplain_server.adapters.runner.single_flight import SingleFlight
from onnxplain_server.core.errors import ExplainError, Reason

PATIENCE_SECONDS = 120


def patient() -> bool:
    return True


class Askers:
    """Threads that do the same work, each as soon as it is let in."""

    def __init__(self, works: SingleFlight, names: list[str]) -> None:
        self.inside = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.failing = 0
        self.first: list[bool] = []
        self._waits = threading.Semaphore(0)
        self._works = works
        self._threads = [
            threading.Thread(target=self._ask, args=(name,), daemon=True) for name in names
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, name: str) -> None:
        try:
            with self._works.single_flight(name, self._keep_waiting) as first:
                self.first.append(first)
                if first:
                    self.inside.release()
                    assert self.go_on.acquire(timeout=PATIENCE_SECONDS)
                    self._fail_perhaps()
        except ValueError:
            pass

    def _keep_waiting(self) -> bool:
        self._waits.release()
        return True

    def wait(self, count: int) -> bool:
        """Check that so many waiters have polled, some of them perhaps twice."""
        return all(self._waits.acquire(timeout=PATIENCE_SECONDS) for _ in range(count))

    def _fail_perhaps(self) -> None:
        if self.failing:
            self.failing -= 1
            raise ValueError("the work failed")

    def join(self) -> list[bool]:
        end = time.monotonic() + PATIENCE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return self.first


def test_of_many_askers_one_is_first_and_the_others_follow_when_it_is_done() -> None:
    works = SingleFlight()
    askers = Askers(works, ["a"] * 20)
    assert askers.inside.acquire(timeout=PATIENCE_SECONDS)
    assert askers.wait(2 * 19)
    assert askers.first == [True]

    askers.go_on.release()

    assert sorted(askers.join()) == [False] * 19 + [True]
    assert works.coalesced_count == 19


def test_other_work_does_not_wait() -> None:
    askers = Askers(SingleFlight(), ["a", "b"])

    assert all(askers.inside.acquire(timeout=PATIENCE_SECONDS) for _ in range(2))

    askers.go_on.release(2)
    askers.join()


def test_work_that_fails_is_taken_over_by_one_of_those_who_wait() -> None:
    askers = Askers(SingleFlight(), ["a"] * 5)
    askers.failing = 2
    for number in range(1, 4):
        assert askers.inside.acquire(timeout=PATIENCE_SECONDS)
        assert askers.wait(2 * 4)
        assert askers.first == [True] * number
        askers.go_on.release()

    assert sorted(askers.join()) == [False, False, True, True, True]


def test_the_next_asker_after_the_work_is_first_again() -> None:
    works = SingleFlight()
    for _ in range(2):
        with works.single_flight("a", patient) as first:
            assert first


def held(works: SingleFlight) -> Callable[[], None]:
    """Begin work in another thread; return what ends it."""
    inside, end = threading.Event(), threading.Event()

    def hold() -> None:
        with works.single_flight("a", patient):
            inside.set()
            end.wait(PATIENCE_SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(PATIENCE_SECONDS)

    def finish() -> None:
        end.set()
        thread.join()

    return finish


def test_who_is_no_longer_patient_goes_on_without() -> None:
    works = SingleFlight()
    finish = held(works)
    answers = iter([True, True, False])

    with works.single_flight("a", lambda: next(answers)) as first:
        assert not first

    assert list(answers) == []
    assert works.coalesced_count == 0
    finish()


def test_what_ends_the_waiting_is_raised_to_the_one_who_waits() -> None:
    works = SingleFlight()
    finish = held(works)

    def leave() -> bool:
        raise ExplainError(Reason.CANCELLED, "the caller has gone")

    with pytest.raises(ExplainError, match="gone"), works.single_flight("a", leave):
        pass
    finish()
    with works.single_flight("a", patient) as first:
        assert first


def test_nothing_is_kept_of_work_that_ended() -> None:
    works = SingleFlight()
    askers = Askers(works, ["a", "a", "b"])
    askers.go_on.release(3)
    askers.join()

    assert works._running == {}
