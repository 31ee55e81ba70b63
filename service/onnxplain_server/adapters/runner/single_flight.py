"""Single-flight within this process: one of several equal concurrent requests computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# How often a waiter checks `keep_waiting`; the end of the flight wakes it at once.
_POLL_SECONDS = 0.05


class _Flight:
    """Computation in progress."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.is_done = False


class SingleFlight:
    """Computations in progress, by name; safe for threads.

    Attributes
    ----------
    coalesced_count : int
        Computations skipped because another request completed them meanwhile.
    """

    def __init__(self) -> None:
        self.coalesced_count = 0
        self._lock = threading.Lock()
        self._running: dict[str, _Flight] = {}

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        """Compute, or wait for the leader; if the leader fails, a waiter becomes leader."""
        flight = self._begin(name, keep_waiting)
        if flight is None:
            yield False
            return
        try:
            yield True
            flight.is_done = True
        finally:
            with self._lock:
                del self._running[name]
            flight.ended.set()

    def _begin(self, name: str, keep_waiting: Callable[[], bool]) -> _Flight | None:
        """Become leader, or wait; None once the leader is done, or waiting is given up."""
        own = _Flight()
        while True:
            with self._lock:
                flight = self._running.setdefault(name, own)
            if flight is own:
                return own
            while not flight.ended.wait(_POLL_SECONDS):
                if not keep_waiting():
                    return None
            if flight.is_done:
                with self._lock:
                    self.coalesced_count += 1
                return None
