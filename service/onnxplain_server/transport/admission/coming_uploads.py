"""Account of uploads that come in parts, whose bytes wait in memory for the rest: a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.transport.admission.shedding import find_victim
from onnxplain_server.transport.admission.ticket import Ticket


class ComingUploads:
    """Uploads that are coming; thread-safe.

    Beyond the limit, the newest one of the caller with most bytes ends, and where no caller has
    more than who sends, this one.

    Parameters
    ----------
    byte_limit : int
        Memory of all of them. A single larger one is let through.
    """

    def __init__(self, byte_limit: int) -> None:
        self._byte_limit = byte_limit
        self._lock = threading.Lock()
        self._byte_counts: dict[Ticket, int] = {}

    @contextmanager
    def counted(self, ticket: Ticket) -> Iterator[Callable[[int], None]]:
        """Count an upload; the function takes the size of each part, and may raise OVERLOADED."""
        with self._lock:
            self._byte_counts[ticket] = 0
        try:
            yield lambda byte_count: self._add(ticket, byte_count)
        finally:
            with self._lock:
                self._byte_counts.pop(ticket, None)

    def _add(self, ticket: Ticket, byte_count: int) -> None:
        with self._lock:
            if ticket not in self._byte_counts:
                return  # it ends: it has made room for another
            self._byte_counts[ticket] += byte_count
            held = sum(self._byte_counts.values())
            if held <= self._byte_limit or held == self._byte_counts[ticket]:
                return
            others = [each for each in self._byte_counts if each is not ticket]
            victim = find_victim(ticket, others, self._byte_counts.__getitem__)
            if victim is not None:
                del self._byte_counts[victim]
        message = f"uploads that are coming take {held:,} bytes; ask again later"
        if victim is None:
            raise ExplainError(Reason.OVERLOADED, message)
        with victim.wakeup:
            victim.end(Reason.OVERLOADED, message)
