"""Who of those that wait is next: callers take turns, and each is served in the order it came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from onnxplain_server.transport.admission.admission import CallerKey
from onnxplain_server.transport.admission.ticket import Ticket


class FairQueue:
    """Those that wait, by caller_key; no locks in here.

    A caller_key that begins to wait, and one that was served or left, goes to the
    end: so among those with as much at work, none is passed twice by another.
    """

    def __init__(self) -> None:
        self._priority: deque[Ticket] = deque()
        self._queues: dict[CallerKey, deque[Ticket]] = {}

    def add(self, one: Ticket) -> None:
        """Put one behind those of its caller_key."""
        self._queues.setdefault(one.caller_key, deque()).append(one)

    def add_first(self, one: Ticket) -> None:
        """Put one before all caller_keys, behind others that came like this."""
        self._priority.append(one)

    def remove(self, one: Ticket) -> None:
        """Take one out, if it is there; its caller_key goes to the end."""
        if one in self._priority:
            self._priority.remove(one)
            return
        those = self._queues.pop(one.caller_key, deque())
        if one in those:
            those.remove(one)
        if those:
            self._queues[one.caller_key] = those

    def next(self, running: Callable[[CallerKey], int], most: float) -> Ticket | None:
        """Return the first of the caller_key that has least at work, and waits for longest.

        Parameters
        ----------
        running : callable (caller_key) -> int
            How many of a caller_key are at work.
        most : float
            Parties with more at work are passed over.
        """
        for one in self._priority:
            if running(one.caller_key) <= most:
                return one
        caller_keys = [caller_key for caller_key in self._queues if running(caller_key) <= most]
        return self._queues[min(caller_keys, key=running)][0] if caller_keys else None
