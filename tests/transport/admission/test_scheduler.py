"""Scheduling: tickets, slots, fair queueing and load shedding."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.authentication import ANONYMOUS
from onnxplain_server.transport.admission.backlog import QueueLimits
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.ticket import Stage, Ticket
from onnxplain_server.transport.admission.work_estimates import WorkKey

from tools.waiting import until

PATIENCE = 120.0


def caller(name: str = "ada", address: str = "", seconds: float = PATIENCE) -> Caller:
    return Caller(name, seconds, lambda: False, address)


class Asking:
    """A request on a thread of its own; once it runs it stays until it may leave."""

    def __init__(
        self,
        scheduler: Scheduler,
        name: str,
        started: list[str],
        seconds: float,
        work: WorkKey | None,
        byte_count: int,
    ) -> None:
        self._seconds = seconds
        self._work = work, byte_count
        self.may_leave = threading.Event()
        self.refused: Reason | None = None
        self.retry_seconds: float | None = None
        self._scheduler = scheduler
        self._name = name
        self._started = started
        self._ticket: Ticket | None = None
        self._entered = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self._entered.wait(PATIENCE)
        with scheduler._lock:  # it waits, or was refused
            pass

    def _run(self) -> None:
        try:
            with self._scheduler.admit(caller(self._name, seconds=self._seconds)) as ticket:
                self._ticket = ticket
                self._enter(ticket)
        except ExplainError as error:
            self._refuse(error)
        self._entered.set()

    def _enter(self, ticket: Ticket) -> None:
        # Seen by others only once it waits or is refused, all in one hold of the lock.
        with self._scheduler._lock:
            self._entered.set()
            try:
                with self._scheduler.acquire(ticket, *self._work):
                    self._started.append(self._name)
                    ticket.wakeup.wait_for(self.may_leave.is_set, PATIENCE)
            except ExplainError as error:
                self._refuse(error)

    def _refuse(self, error: ExplainError) -> None:
        self.refused, self.retry_seconds = error.reason, error.retry_seconds

    def cancel(self) -> None:
        """End it, wherever it is."""
        if self._ticket is not None:
            self._ticket.control.cancel()

    def leave(self) -> None:
        """Let it come to its end."""
        self.may_leave.set()
        if self._ticket is not None:
            with self._scheduler._lock:
                self._ticket.wakeup.notify_all()
        self.thread.join()


class Crowd:
    """Requests of several callers."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.started: list[str] = []
        self.all: list[Asking] = []

    def ask(
        self,
        name: str,
        seconds: float = PATIENCE,
        work: WorkKey | None = None,
        byte_count: int = 0,
    ) -> Asking:
        asked = name, self.started, seconds, work, byte_count
        self.all.append(Asking(self.scheduler, *asked))
        return self.all[-1]

    def work(self, seconds: float, name: str = "ada") -> WorkKey:
        """Work of a caller that has always taken so long."""
        key = WorkKey((name, ""), "explain", round(1_000 * seconds))
        self.scheduler._backlog._estimates.learn(key, seconds)
        return key

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass for what runs."""
        now = time.monotonic() + seconds
        self.scheduler._backlog._clock = lambda: now

    def start(self, count: int) -> Sequence[str]:
        """Wait until so many have started; who has."""
        until(lambda: len(self.started) >= count)
        return self.started


@pytest.fixture
def crowd() -> Iterator[Callable[..., Crowd]]:
    with ExitStack() as ends:

        @contextmanager
        def ended(made: Crowd) -> Iterator[Crowd]:
            yield made
            for one in made.all:
                one.cancel()
                one.leave()
            assert made.scheduler.wait_idle(0)

        yield lambda *counts, **named: ends.enter_context(ended(Crowd(Scheduler(*counts, **named))))


def test_a_latecomer_does_not_overtake_those_of_its_caller_who_wait(crowd) -> None:
    made = crowd(1, 3)
    asking = [made.ask("ada") for _ in range(4)]

    for count, one in enumerate(asking, 1):
        made.start(count)
        assert len(made.started) == count
        assert not any(other.thread.is_alive() for other in asking[: count - 1])
        one.leave()


def test_a_deadline_that_passes_in_the_line_is_told(crowd) -> None:
    made = crowd(1, 1)
    made.ask("ada")
    made.start(1)

    late = made.ask("ada", seconds=0.1)
    late.thread.join(PATIENCE)

    assert late.refused is Reason.DEADLINE_EXCEEDED
    assert made.scheduler.counts().waiting_count == 0


def test_callers_take_turns_however_many_requests_one_has(crowd) -> None:
    made = crowd(1, 8)
    asking = [made.ask(name) for name in ("eve", "eve", "eve", "eve", "ada", "ada", "bob")]

    for count in range(1, 8):
        name = made.start(count)[-1]
        next(one for one in asking if one._name == name and not one.may_leave.is_set()).leave()

    assert made.started == ["eve", "eve", "ada", "bob", "eve", "ada", "eve"]


def test_the_caller_with_least_at_work_is_next(crowd) -> None:
    made = crowd(2, 8)
    first, _, _ = (made.ask("eve") for _ in range(3))
    made.start(2)
    made.ask("ada")

    first.leave()

    assert made.start(3)[2] == "ada"


def test_a_caller_without_work_runs_at_once_beside_the_long_requests_of_others(crowd) -> None:
    made = crowd(2, 8, extra_count=1)
    for name in ("eve", "mallory", "eve", "mallory"):
        made.ask(name)
    made.start(2)

    made.ask("ada")

    assert made.start(3) == ["eve", "mallory", "ada"]
    assert made.scheduler.counts().running_count == 3


def test_more_than_one_at_a_time_of_a_caller_does_not_run_beside_others(crowd) -> None:
    made = crowd(1, 8, extra_count=2)
    made.ask("eve")
    made.ask("ada")
    made.start(2)

    made.ask("ada")

    # Under the lock, so after whoever could run at once.
    assert made.scheduler.counts().waiting_count == 1
    assert made.started == ["eve", "ada"]


def test_a_turn_that_fails_is_given_back() -> None:
    scheduler = Scheduler(running_count=1, waiting_count=0)
    with (
        pytest.raises(ValueError, match="lost"),
        scheduler.admit(caller()) as ticket,
        scheduler.acquire(ticket),
    ):
        raise ValueError("lost")

    with scheduler.admit(caller()) as ticket, scheduler.acquire(ticket):
        assert scheduler.counts().running_count == 1
    assert scheduler.wait_idle(0)


def test_places_are_counted_exactly() -> None:
    scheduler = Scheduler(running_count=1, waiting_count=1)

    with scheduler.admit(caller()), scheduler.admit(caller()):
        with pytest.raises(ExplainError) as caught, scheduler.admit(caller()):
            pass
        assert not scheduler.wait_idle(0)

    assert caught.value.reason is Reason.OVERLOADED
    assert scheduler.wait_idle(0)


def test_one_caller_cannot_fill_the_places(crowd) -> None:
    made = crowd(1, 4)
    of_eve = [made.ask("eve") for _ in range(5)]
    made.start(1)

    others = [made.ask("ada") for _ in range(3)]

    until(lambda: made.scheduler.counts().in_flight_count == 5)
    assert [one.refused for one in of_eve] == [None, None, None, *[Reason.OVERLOADED] * 2]
    # Three to two is as even as five places allow.
    assert [one.refused for one in others] == [None, None, Reason.OVERLOADED]


def test_work_that_has_begun_is_never_given_up_for_others(crowd) -> None:
    made = crowd(3, 0)
    of_eve = [made.ask("eve") for _ in range(3)]
    made.start(3)

    refused = made.ask("ada")

    assert refused.refused is Reason.OVERLOADED
    assert [one.refused for one in of_eve] == [None] * 3


def test_a_request_that_is_being_read_gives_its_place_to_others_too() -> None:
    scheduler = Scheduler(running_count=1, waiting_count=1)
    with (
        scheduler.admit(caller("eve")) as first,
        scheduler.admit(caller("eve")) as second,
        scheduler.admit(caller("ada")),
    ):
        first.check()
        with pytest.raises(ExplainError) as caught:
            second.check()

    assert caught.value.reason is Reason.OVERLOADED


def test_places_of_extra_requests_are_for_callers_that_have_none() -> None:
    scheduler = Scheduler(running_count=1, waiting_count=0, extra_count=1)
    with scheduler.admit(caller("eve")):
        with pytest.raises(ExplainError), scheduler.admit(caller("eve")):
            pass
        with scheduler.admit(caller("ada")):
            pass


def test_those_without_a_name_are_told_apart_by_address() -> None:
    assert caller(ANONYMOUS, "10.0.0.1").key != caller(ANONYMOUS, "10.0.0.2").key
    assert caller("ada", "10.0.0.1").key == caller("ada", "10.0.0.2").key
    assert caller("10.0.0.1").key != caller(ANONYMOUS, "10.0.0.1").key


def test_who_stands_aside_lets_another_run_and_is_next_to_run_again(crowd) -> None:
    made = crowd(1, 3)
    with made.scheduler.admit(caller("ada")) as ticket, made.scheduler.acquire(ticket):
        first, _ = made.ask("ada"), made.ask("bob")
        assert made.started == []

        def leave() -> None:
            # Once the one that stood aside waits for its turn again.
            until(lambda: bool(made.scheduler._running.queue._priority))
            first.leave()

        leaving = threading.Thread(target=leave)
        with ticket.control.release_slot():
            made.start(1)
            leaving.start()
            # Left only once the other one has ended; it is not overtaken by the third.
        leaving.join()
        assert made.started == [made.started[0]]
        assert made.scheduler.counts().running_count == 1

    made.start(2)


def test_who_stands_aside_when_the_server_stops_is_told_so() -> None:
    scheduler = Scheduler(running_count=1, waiting_count=0)

    with (
        pytest.raises(ExplainError) as caught,
        scheduler.admit(caller()) as ticket,
        scheduler.acquire(ticket),
        ticket.control.release_slot(),
    ):
        scheduler.cancel_all()

    assert caught.value.reason is Reason.UNAVAILABLE
    assert scheduler.counts().running_count == 0


def test_what_is_still_read_when_the_server_stops_is_told_so() -> None:
    scheduler = Scheduler(running_count=1, waiting_count=0)

    with scheduler.admit(caller()) as ticket:
        scheduler.cancel_all()
        with pytest.raises(ExplainError) as caught:
            ticket.check()

    assert caught.value.reason is Reason.UNAVAILABLE


def test_many_short_requests_wait_where_only_few_long_ones_may(crowd) -> None:
    made = crowd(1, 100, limits=QueueLimits(seconds=30))
    made.ask("eve")
    made.start(1)
    short, long = (
        [made.ask("ada", work=made.work(seconds)) for _ in range(40)] for seconds in (0.1, 20.0)
    )

    assert all(one.refused is None for one in short)
    # One may wait in any case, and another for 20 s.
    assert [one.refused for one in long[:3]] == [None, None, Reason.OVERLOADED]
    assert all(one.refused is Reason.OVERLOADED for one in long[2:])


def test_who_is_refused_is_told_to_come_back_when_there_is_room(crowd) -> None:
    made = crowd(1, 100, limits=QueueLimits(seconds=30))
    made.ask("eve")
    made.start(1)

    asked = [made.ask("ada", work=made.work(20.0)) for _ in range(5)]

    # 44 s wait, 14 s too much: then one after the other.
    assert [one.retry_seconds for one in asked] == [None, None, 30, 50, 70]


def test_one_caller_cannot_fill_the_queue_with_long_work(crowd) -> None:
    made = crowd(1, 100, limits=QueueLimits(seconds=30))
    made.ask("eve")
    made.start(1)
    of_eve = [made.ask("eve", work=made.work(20.0, "eve")) for _ in range(2)]

    other = made.ask("ada", work=made.work(5.0))

    assert other.refused is None
    until(lambda: of_eve[1].refused is Reason.OVERLOADED)
    assert of_eve[0].refused is None
    assert of_eve[1].retry_seconds is not None


def test_short_requests_pass_the_long_ones_of_their_own_caller(crowd) -> None:
    made = crowd(2, 100, extra_count=2)
    for _ in range(4):
        made.ask("ada", work=made.work(600.0))
    short = made.work(0.1)
    made.start(2)
    asked = [made.ask("ada", work=short) for _ in range(3)]
    assert len(made.started) == 2

    made.pass_seconds(60)

    made.start(4)
    assert made.scheduler.counts().running_count == 4
    asked[0].leave()
    made.start(5)
    assert [one.thread.is_alive() for one in asked] == [False, True, True]


def test_unknown_work_passes_long_work_while_another_extra_slot_is_free(crowd) -> None:
    made = crowd(1, 100, extra_count=2)
    made.ask("ada", work=made.work(600.0))
    made.start(1)
    made.pass_seconds(60)
    unknown = [WorkKey(("ada", ""), "explain", 2**size) for size in (4, 8)]
    first, second = (made.ask("ada", work=key) for key in unknown)

    made.start(2)
    assert made.scheduler.counts().waiting_count == 1
    made.ask("bob")

    assert made.start(3)[2] == "bob"
    first.leave()
    second.cancel()


def test_work_that_runs_together_with_short_work_takes_no_extra_slot(crowd) -> None:
    made = crowd(2, 100, extra_count=2)
    short = made.work(0.1)
    for _ in range(3):
        made.ask("ada", work=short)

    assert made.start(2) == ["ada", "ada"]
    assert made.scheduler.counts().waiting_count == 1


def test_the_memory_of_messages_that_wait_is_limited_and_shared(crowd) -> None:
    made = crowd(1, 100, limits=QueueLimits(byte_count=100))
    made.ask("eve")
    made.start(1)
    of_eve = [made.ask("eve", byte_count=size) for size in (50, 40, 20)]

    of_ada = made.ask("ada", byte_count=30)

    until(lambda: of_eve[1].refused is Reason.OVERLOADED)
    assert [of_eve[0].refused, of_eve[2].refused] == [None, Reason.OVERLOADED]
    assert of_ada.refused is None


def test_a_message_larger_than_the_memory_may_wait_alone(crowd) -> None:
    made = crowd(1, 100, limits=QueueLimits(byte_count=100))
    made.ask("eve")
    made.start(1)

    asked = [made.ask("ada", byte_count=size) for size in (200, 1)]

    assert [one.refused for one in asked] == [None, Reason.OVERLOADED]


def test_few_requests_are_received_at_a_time_and_others_wait_for_that(crowd) -> None:
    made = crowd(2, 100, limits=QueueLimits(reading_count=1))
    scheduler = made.scheduler
    with scheduler.admit(caller("ada")):
        until(lambda: len(scheduler._in_stage(Stage.READING)) == 1)
        other = threading.Thread(target=made.ask, args=("ada",))
        other.start()
        until(lambda: len(scheduler._in_stage(Stage.ARRIVED)) == 1)

    other.join()
    assert made.start(1) == ["ada"]


def test_who_finds_no_place_to_be_received_is_refused_soon(
    crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxplain_server.transport.admission.scheduler._RECEIVE_SECONDS", 0.0)
    made = crowd(2, 100, limits=QueueLimits(reading_count=1))
    with made.scheduler.admit(caller("ada")) as first:
        asked = made.ask("ada")

        first.check()

    assert asked.refused is Reason.OVERLOADED


def test_who_sends_slowly_makes_room_for_a_caller_with_fewer(crowd) -> None:
    made = crowd(2, 100, limits=QueueLimits(reading_count=2))
    with made.scheduler.admit(caller("eve")) as first, made.scheduler.admit(caller("eve")) as late:
        made.ask("ada")

        made.start(1)
        first.check()
        with pytest.raises(ExplainError) as caught:
            late.check()

    assert caught.value.reason is Reason.OVERLOADED
