"""Adaptive batch size: the rows per call of a model, learned from the duration of its calls."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from onnxplain_server.core.errors import ExplainError, Reason

_T = TypeVar("_T")

ALIGNMENT = 16
"""Rows that stay together in a call. The runtime computes rows in groups of up to 16, and a single
row or the rest of a group by other instructions, whose last bits may differ: while calls are cut at
multiples of 16, each row is in the same group whatever the size of the calls."""

_SIZES = (16, 128, 1_024, 2_048, 4_096, 8_192, 16_384)
"""Sizes tried, one after the other as long as their calls are short. The first ones are for slow
models, and for those that need much memory for each row."""
_TRIALS = 8
_MAX_SECONDS = 0.05
_TOLERANCE = 1.03
_MOST_RECORDED = 100_000
"""Rows per second whose predictions are recorded: up to some hundred kilobytes per output."""


class BatchSize:
    """Batch size of a loaded model: the fastest per row among the sizes tried.

    The trials are calls of real requests, so learning costs nothing. Calls last about 50 ms at
    most, or as long as 16 rows, since a computation can be cancelled between calls only. What a
    slow model's call has predicted is lost where the process dies before its end.
    """

    LARGEST = _SIZES[-1]

    clock = staticmethod(time.thread_time)
    """Time of calls in seconds: of the processor, so that other processes do not count."""

    has_way = False
    """Whether a call takes time beside that of its rows, on its way to the model and back."""

    def rows_per_second(self) -> float | None:
        """Return the rows that all calls predict in a second; None where nobody tells it."""
        return None

    calls_at_once = 1
    """Calls that run at a time, where their number does not follow from the processor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[int, list[float]] = {size: [] for size in _SIZES}
        self._settled: int | None = None
        self._row_seconds = math.inf

    @property
    def is_settled(self) -> bool:
        """True once it is learned: durations no longer count."""
        return self._settled is not None

    @property
    def is_slow(self) -> bool:
        """True where a second's predictions of one thread are few enough to record each."""
        return 0 < self.rows_in(1_000.0) <= 1_000 * _MOST_RECORDED

    def current(self) -> int:
        """Return the number of rows of the next call."""
        if self._settled is not None:
            return self._settled
        with self._lock:
            for size in _SIZES:
                if len(self._times[size]) < _TRIALS:
                    return size
        return _SIZES[-1]

    def rows_in(self, seconds: float) -> int:
        """Return how many rows one thread predicts in a time; 0 until the batch size is learned."""
        return int(seconds / self._row_seconds)

    def rows_side_by_side(self, seconds: float) -> int:
        """Return the rows of pieces of work that are done at once; 0 until the size is learned."""
        return self.rows_in(seconds)

    def record(self, size: int, rows: int, seconds: float) -> None:
        """Record the duration of a call with `rows` rows, made at batch size `size`."""
        if self._settled is not None or 2 * rows < size:
            return
        with self._lock:
            self._times[size].append(seconds / rows)
            if seconds > _MAX_SECONDS or self._is_next_too_long():
                self._settled = self._best()

    def lower(self, rows: int) -> bool:
        """Settle at a quarter of the rows of a call that memory did not suffice for.

        Return False where such a call has no fewer rows, those of one group and a rest, and where
        another process makes the calls, which lowers its own.
        """
        if self.has_way or rows < 2 * ALIGNMENT:
            return False
        with self._lock:
            self._settled = _aligned(min(rows // 4, self._settled or rows))
            times = [seconds for tried in self._times.values() for seconds in tried]
            self._row_seconds = min(times, default=math.inf)
        return True

    def _is_next_too_long(self) -> bool:
        """Return whether all sizes were tried, or calls of the next one would last too long."""
        tried = [size for size in _SIZES if len(self._times[size]) >= _TRIALS]
        if len(tried) == len(_SIZES):
            return True
        following = _SIZES[len(tried)]
        return bool(tried) and following * min(self._times[tried[-1]]) > _MAX_SECONDS

    def _best(self) -> int:
        """Return the largest size within tolerance of the fastest, cut to the longest duration.

        Larger calls also save time between calls, which no trial measures. So where the next size
        would last too long, it is as many rows as do not.
        """
        row_seconds = {size: min(times) for size, times in self._times.items() if times}
        limit = _TOLERANCE * min(row_seconds.values())
        best = max(size for size, seconds in row_seconds.items() if seconds <= limit)
        self._row_seconds = row_seconds[best]
        longest = int(_MAX_SECONDS / row_seconds[best])
        is_cut = best == max(row_seconds) and best < self.LARGEST
        return _aligned(longest if is_cut else min(best, longest))


def _aligned(rows: int) -> int:
    """Round down to a multiple of the alignment, at least one."""
    return max(ALIGNMENT, rows // ALIGNMENT * ALIGNMENT)


def next_call(start: int, stop: int, size: int) -> slice:
    """Return the rows of the next call, from `start` on.

    Calls end at multiples of the alignment, counted from the first row of the piece. The rest of
    the last group is predicted with the group before it: it is in one call with 16 rows at least,
    if the piece has so many.

    Parameters
    ----------
    start : int
        First row that is not predicted, a multiple of the alignment.
    stop : int
        Number of rows of the piece.
    size : int
        Current batch size.
    """
    end = start + _aligned(size)
    return slice(start, stop if stop - end < ALIGNMENT else end)


def call_within_memory(
    batch_size: BatchSize, call: Callable[[slice, int], _T], start: int, stop: int
) -> tuple[slice, _T]:
    """Make the next call from row `start` on, with fewer rows where memory does not suffice.

    Return its rows and what the call returns. The last error stands where a group of rows is too
    much.
    """
    while True:
        size = batch_size.current()
        rows = next_call(start, stop, size)
        try:
            return rows, call(rows, size)
        except (MemoryError, ExplainError) as fault:
            is_memory = isinstance(fault, MemoryError) or fault.reason is Reason.OUT_OF_MEMORY
            if not is_memory or not batch_size.lower(rows.stop - rows.start):
                raise
