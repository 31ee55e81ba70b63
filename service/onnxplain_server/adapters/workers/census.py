"""Worker census: counts of starts, and of ends by reason, for the metrics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from enum import Enum


class EndReason(Enum):
    """Reason for the end of a worker.

    Attributes
    ----------
    CRASHED
        During a request, by itself.
    KILLED
        By a signal from outside, busy or idle: from an operator, or from the OOM killer.
    STOPPED
        By the server, during a request that was cancelled or over a limit, or to be replaced.
    EVICTED
        By the server, to free memory for workers of other models.
    RETIRED
        By itself while idle, after its share of work.
    """

    CRASHED = "crashed"
    KILLED = "killed"
    STOPPED = "stopped"
    EVICTED = "evicted"
    RETIRED = "retired"


class WorkerCensus:
    """Counter of starts and ends; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start_count = 0
        self._ends: Counter[EndReason] = Counter()

    def started(self) -> None:
        """Count a start."""
        with self._lock:
            self._start_count += 1

    def ended(self, reason: EndReason) -> None:
        """Count an end."""
        with self._lock:
            self._ends[reason] += 1

    @property
    def start_count(self) -> int:
        """Workers started so far."""
        return self._start_count

    def ends(self) -> Mapping[EndReason, int]:
        """Return the number of ends so far by reason."""
        with self._lock:
            return {reason: self._ends[reason] for reason in EndReason}
