"""Which workers there are, and how those ended that were."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from enum import Enum


class EndReason(Enum):
    """How a worker ended.

    Attributes
    ----------
    CRASHED
        In the middle of a request, by itself.
    KILLED
        By a kill from outside, at work or not: of an operator, or of the kernel short of memory.
    STOPPED
        By the server, in the middle of a request that was over or too much, or to be replaced.
    EVICTED
        By the server, to make room for other models.
    RETIRED
        By itself while it waited, having worked long enough.
    """

    CRASHED = "crashed"
    KILLED = "killed"
    STOPPED = "stopped"
    EVICTED = "evicted"
    RETIRED = "retired"


class WorkerCensus:
    """Counts starts and ends; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start_count = 0
        self._ends: Counter[EndReason] = Counter()

    def started(self) -> None:
        """Count a worker."""
        with self._lock:
            self._start_count += 1

    def ended(self, how: EndReason) -> None:
        """Count its end."""
        with self._lock:
            self._ends[how] += 1

    @property
    def start_count(self) -> int:
        """Workers started so far."""
        return self._start_count

    def ends(self) -> Mapping[EndReason, int]:
        """Return how many ended in which way so far."""
        with self._lock:
            return {how: self._ends[how] for how in EndReason}
