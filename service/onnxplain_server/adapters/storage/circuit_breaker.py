"""Whether a service that failed is asked again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PAUSE_SECONDS = 5.0


class CircuitBreaker:
    """Opens at the first failure; then lets one trial through per pause, until one succeeds.

    Opening at once bounds what a dead service costs: one timeout per pause.

    Parameters
    ----------
    pause : float
        Seconds between trials.
    clock : callable () -> float
        Seconds; must never go back.
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
        """Whether to ask now. Where it is open, one asker per pause is told so."""
        with self._lock:
            if not self._open:
                return True
            now = self._clock()
            if now < self._next_trial:
                return False
            # Set before the trial ends, so that one that never ends blocks no other.
            self._next_trial = now + self._pause
            return True

    def succeed(self) -> bool:
        """Close; whether it was open."""
        with self._lock:
            was_open, self._open = self._open, False
            return was_open

    def fail(self) -> bool:
        """Open, for a pause from now on; whether it was closed."""
        with self._lock:
            was_open, self._open = self._open, True
            self._next_trial = self._clock() + self._pause
            return not was_open
