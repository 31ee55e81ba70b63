"""Scheduler of requests: admission control with a bounded queue, fair queueing and load shedding.

A request holds a ticket from arrival to reply, and a slot while it computes. An admitted request
may still be shed in favour of a caller with fewer.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.fair_queue import FairQueue
from onnxplain_server.transport.admission.ticket import Stage, Ticket

_POLL_SECONDS = 0.25

_SHED_LIMIT = 4
"""Shed requests that may still hold a ticket: each needs a thread until it has left."""


@dataclass(frozen=True, slots=True)
class SchedulerCounts:
    """Requests in flight (with a ticket), running and waiting, and their callers."""

    in_flight_count: int
    running_count: int
    waiting_count: int
    caller_count: int


class Scheduler:
    """Admits requests by tickets and lets them compute in slots, shared fairly between callers.

    A ticket is taken before the request's body is read, so the number of tickets
    bounds the threads and the memory of requests. When no ticket is left, a caller
    that holds at least two fewer than another still gets one: the newest request of
    the caller with most is shed, unless it already computes. So each of n callers
    can have 1/n of the tickets, however many another sends.

    A free slot goes to the caller with the fewest running requests, and among these
    to the one that has waited longest; requests of one caller are served in order.

    Parameters
    ----------
    running_count : int
        Slots: computations at the same time; at least 1.
    waiting_count : int
        Length of the queue; at least 0.
    extra_count : int
        Extra slots, for callers without a running request: they need not wait for
        long requests of others. As many extra tickets are reserved for callers
        without any.

    Attributes
    ----------
    thread_count : int
        Threads that requests can occupy.
    """

    def __init__(self, running_count: int, waiting_count: int, extra_count: int = 0) -> None:
        self._shared_ticket_limit = running_count + waiting_count
        self._ticket_limit = self._shared_ticket_limit + extra_count
        self.thread_count = self._ticket_limit + _SHED_LIMIT
        self._shared_slot_limit = running_count
        self._slot_limit = running_count + extra_count
        self._tickets: list[Ticket] = []
        self._running: Counter[CallerKey] = Counter()
        self._queue = FairQueue()
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
            )

    @contextmanager
    def admit(self, caller: Caller) -> Iterator[Ticket]:
        """Hold a ticket.

        Raises
        ------
        ExplainError
            UNAVAILABLE once closed; OVERLOADED when no ticket is left.
        """
        ticket = Ticket(caller, self._lock)
        with self._lock:
            self._check_admission(ticket)
            self._tickets.append(ticket)
        try:
            yield ticket
        finally:
            with self._lock:
                self._tickets.remove(ticket)
                if not self._tickets:
                    self._idle.notify_all()
                self._notify_next()

    @contextmanager
    def acquire(self, ticket: Ticket) -> Iterator[None]:
        """Wait for a slot and hold it; raise whatever ends the request while it waits."""
        with self._lock:
            ticket.check()
            self._set_stage(ticket, Stage.WAITING)
            self._queue.add(ticket)
            self._wait_for_slot(ticket)
        ticket.control.release_slot = partial(self._park, ticket)
        try:
            yield
        finally:
            with self._lock:
                self._set_stage(ticket, Stage.DONE)
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
        held = Counter(t.caller_key for t in self._tickets if t.stage is not Stage.SHED)
        limit = self._shared_ticket_limit if held[ticket.caller_key] else self._ticket_limit
        if held.total() < limit:
            return
        victim = self._shed_candidate(held, held[ticket.caller_key] + 2)
        if victim is None:
            message = f"the server takes {limit} requests at a time; ask again later"
            raise ExplainError(Reason.OVERLOADED, message)
        message = "the request was shed for a caller with fewer requests; ask again later"
        victim.end(Reason.OVERLOADED, message)
        self._queue.remove(victim)
        self._set_stage(victim, Stage.SHED)

    def _shed_candidate(self, held: Counter[CallerKey], minimum: int) -> Ticket | None:
        """Return the newest sheddable request of the caller that holds most tickets."""
        if len(self._tickets) >= self.thread_count:
            return None
        sheddable = [t for t in self._tickets if t.is_sheddable and held[t.caller_key] >= minimum]
        return max(reversed(sheddable), key=lambda ticket: held[ticket.caller_key], default=None)

    @contextmanager
    def _park(self, ticket: Ticket) -> Iterator[None]:
        """Release the slot while a request waits for another; then take the next free one.

        An error ends the request, which needs no slot then.
        """
        with self._lock:
            self._set_stage(ticket, Stage.PARKED)
        yield
        with self._lock:
            self._queue.add_priority(ticket)
            self._wait_for_slot(ticket)

    def _wait_for_slot(self, ticket: Ticket) -> None:
        """Wait until a queued ticket is next, and give it the slot."""
        check = partial(ticket.control.check, "while the request waited in the queue")
        try:
            check()
            while self._next() is not ticket:
                # Short, because no event reports that a waiting caller has disconnected.
                ticket.wakeup.wait(_POLL_SECONDS)
                check()
        finally:
            self._queue.remove(ticket)
        self._set_stage(ticket, Stage.RUNNING)

    def _next(self) -> Ticket | None:
        """Return the ticket that gets the next slot; None if no slot is free for any."""
        running_count = self._running.total()
        if running_count >= self._slot_limit:
            return None
        is_extra = running_count >= self._shared_slot_limit
        return self._queue.next(self._running.__getitem__, 0 if is_extra else math.inf)

    def _set_stage(self, ticket: Ticket, stage: Stage) -> None:
        key = ticket.caller_key
        self._running[key] += (stage is Stage.RUNNING) - (ticket.stage is Stage.RUNNING)
        if not self._running[key]:
            del self._running[key]
        ticket.stage = stage
        self._notify_next()

    def _notify_next(self) -> None:
        """Wake only the thread of the next ticket: waking all would cost processor time."""
        if (ticket := self._next()) is not None:
            ticket.wakeup.notify()
