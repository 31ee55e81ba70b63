"""How many rows a call of the model should have: learned from the calls themselves."""

from __future__ import annotations

import threading

_SIZES = (1_000, 2_000, 4_000, 8_000, 16_000)
_TRIALS = 4
_LONGEST_SECONDS = 0.05
_ABOUT_EQUAL = 1.03


class BatchSize:
    """Learns the call size that runs best, and keeps it for the life of a loaded model.

    Every call is real work, so learning costs nothing. Calls are kept to about
    50 ms, because between calls is where a computation can be ended.
    """

    LARGEST = _SIZES[-1]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[int, list[float]] = {size: [] for size in _SIZES}
        self._settled: int | None = None

    def current(self) -> int:
        """Return the number of rows that the next call should have."""
        if self._settled is not None:
            return self._settled
        with self._lock:
            for size in _SIZES:
                if len(self._times[size]) < _TRIALS:
                    return size
        return _SIZES[-1]

    def record(self, size: int, rows: int, seconds: float) -> None:
        """Tell how long a call took that was asked to have `size` rows and had `rows`."""
        if self._settled is not None or 2 * rows < size:
            return
        with self._lock:
            self._times[size].append(seconds / rows)
            full = len(self._times[_SIZES[-1]]) >= _TRIALS
            if full or seconds > _LONGEST_SECONDS:
                self._settled = self._best()

    def _best(self) -> int:
        """Return the largest size that is about as fast per row as the fastest, and not too long.

        Larger calls leave less to do between calls, which no trial shows.
        """
        tried = {size: min(times) for size, times in self._times.items() if times}
        fastest = min(tried.values())
        best = max(size for size, time in tried.items() if time <= _ABOUT_EQUAL * fastest)
        return max(1, min(best, int(_LONGEST_SECONDS / tried[best])))
