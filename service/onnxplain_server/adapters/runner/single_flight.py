"""One computation where several requests of this process ask the same at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# How soon a waiter looks whether it is still wanted; the end of the work wakes it at once.
_POLL_SECONDS = 0.05


class _Work:
    """A piece of work on its way."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.done = False


class SingleFlight:
    """Pieces of work on their way, by name; safe for threads.

    Attributes
    ----------
    coalesced_count : int
        How many were left to another asker, who did them.
    """

    def __init__(self) -> None:
        self.coalesced_count = 0
        self._lock = threading.Lock()
        self._running: dict[str, _Work] = {}

    @contextmanager
    def single_flight(self, name: str, keep_waiting: Callable[[], bool]) -> Iterator[bool]:
        """See `Cache.single_flight`. Where work fails, one of those who wait takes it over."""
        work = self._begin(name, keep_waiting)
        if work is None:
            yield False
            return
        try:
            yield True
            work.done = True
        finally:
            with self._lock:
                del self._running[name]
            work.ended.set()

    def _begin(self, name: str, keep_waiting: Callable[[], bool]) -> _Work | None:
        """Take the work over, or wait; None once another has done it, or patience is over."""
        own = _Work()
        while True:
            with self._lock:
                work = self._running.setdefault(name, own)
            if work is own:
                return own
            while not work.ended.wait(_POLL_SECONDS):
                if not keep_waiting():
                    return None
            if work.done:
                with self._lock:
                    self.coalesced_count += 1
                return None
