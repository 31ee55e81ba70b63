"""Circuit breaker: stops calls to a failed service, except for one trial per pause.

pybreaker holds a lock while it calls, so that one command to Redis would wait for another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PAUSE_SECONDS = 5.0


class CircuitBreaker:
    """Circuit breaker that opens at the first failure and closes at the first success.

    Opening at once bounds the cost of a dead service: one timeout per pause.

    Parameters
    ----------
    pause : float
        Seconds between trials.
    clock : callable () -> float
        Monotonic, in seconds.
    """

    def __init__(
        self, pause: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._open = False
        self._next_trial = 0.0

    def allows(self) -> bool:
        """Decide whether to call now; while open, True for one caller per pause."""
        with self._lock:
            if not self._open:
                return True
            now = self._clock()
            if now < self._next_trial:
                return False
            # Set before the trial ends, so that a trial that hangs blocks no other.
            self._next_trial = now + self._pause
            return True

    def succeed(self) -> bool:
        """Close; return whether it was open."""
        with self._lock:
            was_open, self._open = self._open, False
            return was_open

    def fail(self) -> bool:
        """Open for a pause from now on; return whether it was closed."""
        with self._lock:
            was_open, self._open = self._open, True
            self._next_trial = self._clock() + self._pause
            return not was_open
