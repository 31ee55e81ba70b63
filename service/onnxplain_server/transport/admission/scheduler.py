"""Scheduler of requests: admission control by waiting work, fair queueing and load shedding.

A request holds a ticket from arrival to reply, and a slot while it computes. An admitted request
may still be shed in favour of a caller with less.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.backlog import Backlog, QueueLimits
from onnxplain_server.transport.admission.shedding import count_one, find_victim
from onnxplain_server.transport.admission.slots import RunningSlots, Slots
from onnxplain_server.transport.admission.ticket import Stage, Ticket
from onnxplain_server.transport.admission.work_estimates import WorkKey

_POLL_SECONDS = 0.25
_FULL_RATE_COUNT = 64
"""Requests that poll so often; more of them poll less often each."""
_LATE_SECONDS = 0.01
_RECEIVE_SECONDS = 2.0  # who holds the places to be received may never send a message

_WAITS = {
    Stage.READING: "while the request waited to be received",
    Stage.RUNNING: "while the request waited in the queue",
}

_SHED_LIMIT = 4
"""Shed requests that may still hold a ticket: each needs a thread until it has left."""

_NO_LIMITS = QueueLimits()


@dataclass(frozen=True, slots=True)
class SchedulerCounts:
    """Requests in flight (with a ticket), running and waiting, and their callers.

    `waiting_seconds` is the estimated time until those that wait have begun.
    """

    in_flight_count: int
    running_count: int
    waiting_count: int
    caller_count: int
    waiting_seconds: float


class Scheduler:
    """Admits requests by tickets and lets them compute in slots, shared fairly between callers.

    A ticket is taken before the request's body is read; the number of tickets bounds the
    threads of requests. Once a body is read, the request may wait as long as the work that
    waits already is not too much, in seconds, nor its messages in bytes: see `QueueLimits`.
    Where one of these limits is reached, a caller that has less than another of what is
    limited is still admitted: the newest request of the caller with most is shed, unless it
    already computes. So each of n callers can have 1/n, however much another sends.

    A free slot goes to the caller with the fewest running requests, and among these
    to the one that has waited longest; requests of one caller are served in order. See
    `RunningSlots` for who passes them.

    Parameters
    ----------
    running_count : int
        Slots: computations at the same time; at least 1.
    waiting_count : int
        Most requests that wait; at least 0.
    extra_count : int
        Extra slots, for callers without a running request and for short work: they need
        not wait for long requests. As many extra tickets are reserved for callers without any.
    limits : QueueLimits
        By default, none.

    Attributes
    ----------
    running_count, thread_count : int
        Slots without the extra ones, and threads that requests can occupy.
    """

    def __init__(
        self,
        running_count: int,
        waiting_count: int,
        extra_count: int = 0,
        *,
        limits: QueueLimits = _NO_LIMITS,
    ) -> None:
        self._shared_ticket_limit = running_count + waiting_count
        self._ticket_limit = self._shared_ticket_limit + extra_count
        self.running_count, self.thread_count = running_count, self._ticket_limit + _SHED_LIMIT
        self._tickets: list[Ticket] = []
        self._backlog = Backlog(running_count, limits.seconds)
        self._byte_limit = limits.byte_count
        self._reading = Slots(Stage.READING, limits.reading_count, extra_count)
        self._running = RunningSlots(running_count, extra_count, self._backlog.long_running_count)
        self._lock = threading.RLock()
        self._idle = threading.Condition(self._lock)
        self._closed = False

    @property
    def closed(self) -> bool:
        """Return whether the server is stopping."""
        return self._closed

    def counts(self) -> SchedulerCounts:
        """Return the current counts."""
        with self._lock:
            stages = Counter(ticket.stage for ticket in self._tickets)
            return SchedulerCounts(
                len(self._tickets),
                stages[Stage.RUNNING],
                stages[Stage.WAITING],
                len({ticket.caller_key for ticket in self._tickets}),
                self._backlog.seconds(),
            )

    @contextmanager
    def admit(self, caller: Caller) -> Iterator[Ticket]:
        """Hold a ticket, once the request's body may be read.

        Raises
        ------
        ExplainError
            UNAVAILABLE once closed; OVERLOADED when no ticket is left, when even short work
            would wait too long, or to be received; whatever ends the request while it waits.
        """
        ticket = Ticket(caller, self._lock)
        with self._lock:
            self._check_admission(ticket)
            self._tickets.append(ticket)
        try:
            with self._lock:
                self._wait_to_read(ticket)
            yield ticket
        finally:
            with self._lock:
                self._set_stage(ticket, Stage.DONE)
                self._tickets.remove(ticket)
                if not self._tickets:
                    self._idle.notify_all()

    @contextmanager
    def acquire(
        self, ticket: Ticket, work: WorkKey | None = None, byte_count: int = 0
    ) -> Iterator[None]:
        """Wait for a slot and hold it.

        Parameters
        ----------
        ticket : Ticket
            Of a request that has been received.
        work : WorkKey or None
            See `Ticket.work`.
        byte_count : int
            Memory of its message.

        Raises
        ------
        ExplainError
            OVERLOADED where too much waits already; whatever ends the request while it waits.
        """
        with self._lock:
            ticket.check()
            ticket.work, ticket.byte_count = work, byte_count
            self._check_backlog(ticket)
            self._set_stage(ticket, Stage.WAITING)
            self._running.add(ticket, self._backlog.estimate(ticket))
            self._wait_for_slot(ticket, self._running, Stage.RUNNING)
        ticket.control.release_slot = partial(self._park, ticket)
        try:
            yield
        finally:
            with self._lock:
                self._set_stage(ticket, Stage.DONE)
                self._backlog.learn(ticket)
            # It refers to the ticket: the cycle would keep the call, and its stream, allocated.
            ticket.control.release_slot = nullcontext

    def close(self) -> None:
        """Refuse new requests from now on."""
        with self._lock:
            self._closed = True

    def wait_idle(self, seconds: float) -> bool:
        """Wait until no request is in flight; return whether that happened in time."""
        with self._lock:
            return self._idle.wait_for(lambda: not self._tickets, seconds)

    def cancel_all(self) -> None:
        """End every request at its next step with UNAVAILABLE: clients then try another server."""
        with self._lock:
            for ticket in self._tickets:
                ticket.end(Reason.UNAVAILABLE, "the server stopped before the work was done")

    def _check_admission(self, ticket: Ticket) -> None:
        """Make room for a ticket, by load shedding if necessary, or raise."""
        if self._closed:
            raise ExplainError(Reason.UNAVAILABLE, "the server is stopping; ask again")
        held = [each for each in self._tickets if each.stage is not Stage.SHED]
        is_first = all(each.caller_key != ticket.caller_key for each in held)
        limit = self._ticket_limit if is_first else self._shared_ticket_limit
        if len(held) >= limit and not self._shed(ticket, held, count_one):
            raise self._backlog.refusal(ticket, f"the server takes {limit} requests at a time")
        self._check_work(ticket)

    def _check_backlog(self, ticket: Ticket) -> None:
        """Make room for a request in the queue, by load shedding if necessary, or raise."""
        waiting = self._in_stage(Stage.WAITING)
        byte_count = ticket.byte_count + sum(each.byte_count for each in waiting)
        is_full = waiting and byte_count > self._byte_limit
        if is_full and not self._shed(ticket, waiting, lambda each: each.byte_count):
            message = f"with this one, the requests that wait would have {byte_count:,} bytes"
            raise self._backlog.refusal(ticket, message)
        self._check_work(ticket)

    def _check_work(self, ticket: Ticket) -> None:
        if self._backlog.has_room(ticket):
            return
        waiting = [each for each in self._in_stage(Stage.WAITING) if each.work is not None]
        if not self._shed(ticket, waiting, lambda each: self._backlog.estimate(each).seconds):
            seconds = self._backlog.seconds_before(ticket)
            message = f"the work that waits takes this server about {seconds:,.0f} s"
            raise self._backlog.refusal(ticket, message)

    def _shed(
        self, ticket: Ticket, others: Collection[Ticket], weigh: Callable[[Ticket], float]
    ) -> bool:
        """Shed one of the others in favour of a request; return whether there was one."""
        if len(self._in_stage(Stage.SHED)) >= _SHED_LIMIT:
            return False
        victim = find_victim(ticket, others, weigh)
        if victim is None:
            return False
        error = self._backlog.refusal(victim, "the request was shed for a caller with less")
        victim.end(error.reason, error.message, error.retry_seconds)
        self._running.remove(victim)
        self._reading.remove(victim)
        self._set_stage(victim, Stage.SHED)
        return True

    def _wait_to_read(self, ticket: Ticket) -> None:
        """Wait a little until few enough are received; a late one of who has most is shed."""
        self._reading.queue.add(ticket)
        end = time.monotonic() + _RECEIVE_SECONDS

        def shed_reader() -> None:
            is_shed = self._shed(ticket, self._in_stage(Stage.READING), count_one)
            if not is_shed and time.monotonic() > end:
                raise self._backlog.refusal(ticket, "the server still receives earlier ones")

        self._wait_for_slot(ticket, self._reading, Stage.READING, shed_reader)

    @contextmanager
    def _park(self, ticket: Ticket) -> Iterator[None]:
        """Release the slot while a request waits for another; then take the next free one.

        An error ends the request, which needs no slot then.
        """
        with self._lock:
            self._set_stage(ticket, Stage.PARKED)
        yield
        with self._lock:
            self._running.add_priority(ticket, self._backlog.estimate(ticket))
            self._wait_for_slot(ticket, self._running, Stage.RUNNING)

    def _wait_for_slot(
        self,
        ticket: Ticket,
        slots: Slots,
        stage: Stage,
        poll: Callable[[], object] = lambda: None,
    ) -> None:
        """Wait until a queued ticket is next, and give it the slot."""
        try:
            if ticket.stage is not Stage.ARRIVED:
                ticket.control.check(_WAITS[stage])
            while slots.next() is not ticket:
                # No event tells that a waiting caller is gone, or that running work is long.
                seconds = _POLL_SECONDS * (1 + len(self._tickets) // _FULL_RATE_COUNT)
                left = ticket.control.deadline - time.monotonic()
                if not ticket.wakeup.wait(min(seconds, max(0.0, left) + _LATE_SECONDS)):
                    poll()
                    self._notify_next()
                ticket.control.check(_WAITS[stage])
        finally:
            slots.remove(ticket)
        self._set_stage(ticket, stage)

    def _in_stage(self, stage: Stage) -> list[Ticket]:
        return [each for each in self._tickets if each.stage is stage]

    def _set_stage(self, ticket: Ticket, stage: Stage) -> None:
        self._running.move(ticket, stage)
        self._reading.move(ticket, stage)
        if Stage.WAITING in {stage, ticket.stage}:
            (self._backlog.add if stage is Stage.WAITING else self._backlog.remove)(ticket)
        if Stage.RUNNING in {stage, ticket.stage}:
            (self._backlog.begin if stage is Stage.RUNNING else self._backlog.pause)(ticket)
        ticket.stage = stage
        self._notify_next()

    def _notify_next(self) -> None:
        """Wake only the threads of the next tickets: waking all would cost processor time."""
        for slots in (self._running, self._reading):
            if (ticket := slots.next()) is not None:
                ticket.wakeup.notify()
