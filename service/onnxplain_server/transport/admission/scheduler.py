"""Who may compute: some at a time, some more waiting, nobody once the server stops."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.admission import Caller, CallerKey
from onnxplain_server.transport.admission.fair_queue import FairQueue
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.ticket import Stage, Ticket

_POLL_SECONDS = 0.25

_LEAVING_COUNT = 4
"""Requests that gave their ticket to others and have not left yet: they need a thread each."""


@dataclass(frozen=True, slots=True)
class SchedulerCounts:
    """How many requests hold a ticket, how many of them run or wait, and for how many callers."""

    in_flight_count: int
    running_count: int
    waiting_count: int
    caller_count: int


class Scheduler:
    """Places for requests, and scheduler for those that hold one, shared fairly between callers.

    A ticket is taken before a request's body is read, so that the number of
    tickets bounds the threads and the memory that requests can occupy. Where
    all are taken, a caller gets one all the same that holds at least two less
    than another one: the newest request of the one with most is refused in
    its stead, unless it is at work. So whoever fills the tickets, each of n
    callers can have its n-th part of them.

    A free turn goes to the caller that has least at work, and among these to
    the one that waits for longest; of a caller's own, first come, first served.

    Parameters
    ----------
    running_count : int
        Computations at the same time; at least 1.
    waiting_count : int
        Requests that may wait for their turn besides; at least 0.
    extra_count : int
        Computations beyond, each of a caller that has none at work: it need
        not wait for others that take long. As many tickets are kept for callers
        that hold none.

    Attributes
    ----------
    thread_count : int
        Threads that requests can occupy.
    """

    def __init__(self, running_count: int, waiting_count: int, extra_count: int = 0) -> None:
        self._common_count = running_count + waiting_count
        self._ticket_count = self._common_count + extra_count
        self.thread_count = self._ticket_count + _LEAVING_COUNT
        self._running_count = running_count
        self._most_running_count = running_count + extra_count
        self._tickets: list[Ticket] = []
        self._running: Counter[CallerKey] = Counter()
        self._queue = FairQueue()
        self._lock = threading.RLock()
        self._emptied = threading.Condition(self._lock)
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is stopping."""
        return self._closed

    def counts(self) -> SchedulerCounts:
        """Return what is so at this moment."""
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
            UNAVAILABLE once closed; OVERLOADED where all tickets are taken.
        """
        ticket = Ticket(caller, self._lock)
        with self._lock:
            self._admit(ticket)
            self._tickets.append(ticket)
        try:
            yield ticket
        finally:
            with self._lock:
                self._tickets.remove(ticket)
                if not self._tickets:
                    self._emptied.notify_all()
                self._wake()

    @contextmanager
    def acquire(self, ticket: Ticket, call: RequestContext) -> Iterator[None]:
        """Wait for a turn and hold it; raises whatever ends the call while it waits."""
        with self._lock:
            ticket.check()
            ticket.call = call
            self._move(ticket, Stage.WAITING)
            self._queue.add(ticket)
            self._take(ticket, call)
        call.release_slot = partial(self._aside, ticket, call)
        try:
            yield
        finally:
            with self._lock:
                self._move(ticket, Stage.DONE)

    def close(self) -> None:
        """Refuse new requests from now on."""
        with self._lock:
            self._closed = True

    def wait_idle(self, seconds: float) -> bool:
        """Wait until no ticket is taken; whether that came true in time."""
        with self._lock:
            return self._emptied.wait_for(lambda: not self._tickets, seconds)

    def cancel_all(self) -> None:
        """Make every request end at its next step, telling its caller to ask another server."""
        with self._lock:
            for ticket in self._tickets:
                ticket.end(Reason.UNAVAILABLE, "the server stopped before the work was done")

    def _admit(self, ticket: Ticket) -> None:
        if self._closed:
            raise ExplainError(Reason.UNAVAILABLE, "the server is stopping; ask again")
        held = Counter(
            other.caller_key for other in self._tickets if other.stage is not Stage.ENDED
        )
        room = self._common_count if held[ticket.caller_key] else self._ticket_count
        if held.total() < room:
            return
        loser = self._loser(held, held[ticket.caller_key] + 2)
        if loser is None:
            message = f"the server takes {room} requests at a time; ask again later"
            raise ExplainError(Reason.OVERLOADED, message)
        message = "the ticket went to a caller with fewer requests; ask again later"
        loser.end(Reason.OVERLOADED, message)
        self._queue.remove(loser)
        self._move(loser, Stage.ENDED)

    def _loser(self, held: Counter[CallerKey], least: int) -> Ticket | None:
        """Return the newest request to shed of the caller that holds most, and at least this."""
        if len(self._tickets) >= self.thread_count:
            return None
        able = [
            ticket for ticket in self._tickets if ticket.yields and held[ticket.caller_key] >= least
        ]
        return max(reversed(able), key=lambda ticket: held[ticket.caller_key], default=None)

    @contextmanager
    def _aside(self, ticket: Ticket, call: RequestContext) -> Iterator[None]:
        """Give the turn to others while a call waits for another; the next free one is its own."""
        with self._lock:
            self._move(ticket, Stage.ASIDE)
        try:
            yield
        finally:
            with self._lock:
                self._queue.add_first(ticket)
                self._take(ticket, call)

    def _take(self, ticket: Ticket, call: RequestContext) -> None:
        """Wait until it is the turn of a ticket that was put among the waiting ones."""
        try:
            call.check("while waiting for a turn")
            while self._next() is not ticket:
                # Short, because nobody tells when a waiting caller leaves.
                ticket.woken.wait(_POLL_SECONDS)
                call.check("while waiting for a turn")
        finally:
            self._queue.remove(ticket)
        self._move(ticket, Stage.RUNNING)

    def _next(self) -> Ticket | None:
        count = self._running.total()
        if count >= self._most_running_count:
            return None
        is_extra = count >= self._running_count
        return self._queue.next(self._running.__getitem__, 0 if is_extra else math.inf)

    def _move(self, ticket: Ticket, stage: Stage) -> None:
        self._running[ticket.caller_key] += (stage is Stage.RUNNING) - (
            ticket.stage is Stage.RUNNING
        )
        if not self._running[ticket.caller_key]:
            del self._running[ticket.caller_key]
        ticket.stage = stage
        self._wake()

    def _wake(self) -> None:
        """Wake whose turn it is, and nobody else: each that wakes costs the processor."""
        if (ticket := self._next()) is not None:
            ticket.woken.notify()
