"""Who of those that wait is next: callers take turns, and each is served in the order it came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from onnxplain_server.transport.admission.admission import Party
from onnxplain_server.transport.admission.ticket import Ticket


class FairQueue:
    """Those that wait, by party; no locks in here.

    A party that begins to wait, and one that was served or left, goes to the
    end: so among those with as much at work, none is passed twice by another.
    """

    def __init__(self) -> None:
        self._first: deque[Ticket] = deque()
        self._parties: dict[Party, deque[Ticket]] = {}

    def add(self, one: Ticket) -> None:
        """Put one behind those of its party."""
        self._parties.setdefault(one.party, deque()).append(one)

    def add_first(self, one: Ticket) -> None:
        """Put one before all parties, behind others that came like this."""
        self._first.append(one)

    def remove(self, one: Ticket) -> None:
        """Take one out, if it is there; its party goes to the end."""
        if one in self._first:
            self._first.remove(one)
            return
        those = self._parties.pop(one.party, deque())
        if one in those:
            those.remove(one)
        if those:
            self._parties[one.party] = those

    def next(self, running: Callable[[Party], int], most: float) -> Ticket | None:
        """Return the first of the party that has least at work, and waits for longest.

        Parameters
        ----------
        running : callable (party) -> int
            How many of a party are at work.
        most : float
            Parties with more at work are passed over.
        """
        for one in self._first:
            if running(one.party) <= most:
                return one
        parties = [party for party in self._parties if running(party) <= most]
        return self._parties[min(parties, key=running)][0] if parties else None
