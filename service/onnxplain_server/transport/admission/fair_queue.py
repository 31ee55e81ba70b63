"""Fair queue of waiting requests: round robin between callers, first in first out within each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.admission.ticket import Ticket


class FairQueue:
    """Waiting tickets, one queue per caller. Not thread-safe: the scheduler locks.

    A caller moves to the end when its first ticket arrives and when one of its
    tickets leaves. So among callers with equally many running requests, none is
    passed twice by another.
    """

    def __init__(self) -> None:
        self._priority: deque[Ticket] = deque()
        self._queues: dict[CallerKey, deque[Ticket]] = {}

    def add(self, ticket: Ticket) -> None:
        """Append a ticket to its caller's queue."""
        self._queues.setdefault(ticket.caller_key, deque()).append(ticket)

    def add_priority(self, ticket: Ticket) -> None:
        """Append a ticket to the priority queue, which is served before all callers."""
        self._priority.append(ticket)

    def remove(self, ticket: Ticket) -> None:
        """Remove a ticket if it is queued; its caller moves to the end."""
        if ticket in self._priority:
            self._priority.remove(ticket)
            return
        queue = self._queues.pop(ticket.caller_key, deque())
        if ticket in queue:
            queue.remove(ticket)
        if queue:
            self._queues[ticket.caller_key] = queue

    def next(self, running: Callable[[CallerKey], int], running_limit: float) -> Ticket | None:
        """Return the first ticket of the caller with the fewest running requests.

        Ties go to the caller that has waited longest.

        Parameters
        ----------
        running : callable (caller key) -> int
            Number of running requests of a caller.
        running_limit : float
            Callers with more running requests are skipped.
        """
        for ticket in self._priority:
            if running(ticket.caller_key) <= running_limit:
                return ticket
        eligible = [key for key in self._queues if running(key) <= running_limit]
        return self._queues[min(eligible, key=running)][0] if eligible else None
