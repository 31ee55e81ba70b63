"""Quotas in memory: what callers used of one server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

from onnxplain_server.core.quotas import (
    BUCKET_COUNT,
    Reservation,
    Shortage,
    bucket_of,
    shortage,
)

_KEY_COUNT = 100_000
"""Callers whose use is remembered; that of the one asked for longest ago is forgotten first."""


class MemoryQuotas:
    """`QuotaStore` of one process.

    Parameters
    ----------
    clock : callable () -> float
        Seconds since the epoch.

    Attributes
    ----------
    error_count : int
        Always 0.
    """

    error_count = 0

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: LRUCache[str, dict[int, int]] = LRUCache(_KEY_COUNT)

    def reserve(self, key: str, amount: int, limit: int) -> Reservation | Shortage:
        """See `QuotaStore.reserve`."""
        now = self._clock()
        with self._lock:
            window = self._window(key, now)
            refusal = shortage(window, amount, limit, now)
            return refusal or self._add(window, amount, now)

    def force(self, key: str, amount: int) -> Reservation:
        """Reserve an amount without a limit."""
        now = self._clock()
        with self._lock:
            return self._add(self._window(key, now), amount, now)

    def settle(self, key: str, reservation: Reservation | None, used: int) -> None:
        """See `QuotaStore.settle`."""
        now = self._clock()
        with self._lock:
            window = self._window(key, now)
            if reservation is not None and reservation.bucket in window:
                window[reservation.bucket] -= reservation.amount
            self._add(window, used, now)

    def used(self, key: str) -> int:
        """See `QuotaStore.used`."""
        with self._lock:
            return sum(self._window(key, self._clock()).values())

    def _window(self, key: str, now: float) -> dict[int, int]:
        """Return the buckets of a key that still count."""
        oldest = bucket_of(now) - BUCKET_COUNT
        window = {b: count for b, count in self._windows.get(key, {}).items() if b >= oldest}
        self._windows[key] = window
        return window

    @staticmethod
    def _add(window: dict[int, int], amount: int, now: float) -> Reservation:
        bucket = bucket_of(now)
        window[bucket] = window.get(bucket, 0) + amount
        return Reservation(amount, bucket)
