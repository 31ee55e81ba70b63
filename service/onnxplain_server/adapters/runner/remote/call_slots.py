"""Call slots of a request on a remote model: calls at a time, and the time that they take."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class CallSlots:
    """Slots for the calls of one request. Thread-safe.

    The request has more threads than slots: while all slots are taken, the other threads prepare
    rows, and add up answers. Not with one slot: calls one after the other know all answers before,
    and no row is asked for twice.

    Parameters
    ----------
    count : int
        Calls at a time.

    Attributes
    ----------
    count : int
    """

    _THREADS_PER_SLOT = 2

    def __init__(self, count: int) -> None:
        self.count = count
        self._slots = threading.Semaphore(count)
        self._thread = threading.local()

    @property
    def thread_count(self) -> int:
        """Threads of the request."""
        return self._THREADS_PER_SLOT * self.count if self.count > 1 else 1

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take a slot for a call."""
        start = time.monotonic()
        with self._slots:
            self._thread.waited = self._waited() + time.monotonic() - start
            yield

    def clock(self) -> float:
        """Return seconds, in which this thread's wait for slots does not count."""
        return time.monotonic() - self._waited()

    def _waited(self) -> float:
        return float(getattr(self._thread, "waited", 0.0))
