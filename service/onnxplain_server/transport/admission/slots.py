"""Slots: how many requests may be in a stage at the same time, shared fairly between callers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.admission.fair_queue import FairQueue
from onnxplain_server.transport.admission.ticket import Stage, Ticket
from onnxplain_server.transport.admission.work_estimates import Estimate


class Slots:
    """Slots of one stage, and the requests that wait for one. Not thread-safe.

    Parameters
    ----------
    stage : Stage
        Of requests that hold a slot.
    count : float
    extra_count : int
        Extra slots, for callers that hold none.
    """

    def __init__(self, stage: Stage, count: float, extra_count: int) -> None:
        self.held: Counter[CallerKey] = Counter()
        """Slots by caller."""
        self.queue = FairQueue()
        self._stage = stage
        self._shared_count = count
        self._count = count + extra_count

    def move(self, ticket: Ticket, stage: Stage) -> None:
        """Take or release the slot of a request that comes to another stage."""
        key = ticket.caller_key
        self.held[key] += (stage is self._stage) - (ticket.stage is self._stage)
        if not self.held[key]:
            del self.held[key]

    def remove(self, ticket: Ticket) -> None:
        """Remove a request from the queue."""
        self.queue.remove(ticket)

    def next(self) -> Ticket | None:
        """Return the request that gets the next slot; None if no slot is free for any."""
        held = self.held.total()
        if held >= self._count:
            return None
        return self.queue.next(self.held.__getitem__, 0 if held >= self._shared_count else math.inf)


class RunningSlots(Slots):
    """Slots to compute in.

    Where long work holds the slots, short work takes extra ones, also of callers that run
    something: nobody's short requests wait for long ones. So does work that is not known yet, as
    long as another extra slot stays free.

    Parameters
    ----------
    count, extra_count : int
    long_running_count : callable () -> int
        Number of running requests that have turned out to be long.
    """

    def __init__(self, count: int, extra_count: int, long_running_count: Callable[[], int]) -> None:
        super().__init__(Stage.RUNNING, count, extra_count)
        self._long_running_count = long_running_count
        self._short, self._unknown = FairQueue(), FairQueue()

    def add(self, ticket: Ticket, estimate: Estimate) -> None:
        """Append a request to the queue."""
        self.queue.add(ticket)
        self._add_passing(ticket, estimate)

    def add_priority(self, ticket: Ticket, estimate: Estimate) -> None:
        """Put a request that has run before in front of the queue."""
        self.queue.add_priority(ticket)
        self._add_passing(ticket, estimate)

    def remove(self, ticket: Ticket) -> None:
        """Remove a request from the queue."""
        for queue in (self.queue, self._short, self._unknown):
            queue.remove(ticket)

    def next(self) -> Ticket | None:
        """Return the request that gets the next slot; None if no slot is free for any."""
        return super().next() or self._passing()

    def _add_passing(self, ticket: Ticket, estimate: Estimate) -> None:
        if not estimate.is_measured:
            self._unknown.add(ticket)
        elif estimate.is_short:
            self._short.add(ticket)

    def _passing(self) -> Ticket | None:
        free = self._count - self.held.total()
        if free <= 0 or self._long_running_count() < self._shared_count:
            return None
        short = self._short.next(self.held.__getitem__, math.inf)
        if short is None and free > 1:
            return self._unknown.next(self.held.__getitem__, math.inf)
        return short
