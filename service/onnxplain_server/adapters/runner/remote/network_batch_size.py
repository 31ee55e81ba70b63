"""Batch size for models behind an address, learned from the duration of calls on the clock."""

from __future__ import annotations

from onnxplain_server.adapters.runner.remote.call_slots import CallSlots
from onnxplain_server.effects.batch_size import ALIGNMENT, BatchSize

_SIZES = (16, 64, 256, 1_024, 4_096, 16_384)
_TRIALS, _LONG_SECONDS = 2, 0.5
"""Calls of a size; one, where it takes long, as then chance is a small part."""
_MAX_ROW_SECONDS = 1.0
"""Time that the rows of a call may take, beside what each call takes whatever its rows: a
computation is cancelled between calls, and what a failed call has predicted is lost."""
_TELLING_SECONDS = 0.25
_TOLERANCE = 1.1
"""Ratio of durations that is no difference on a network."""


class NetworkBatchSize(BatchSize):
    """Batch size of a remote model: the fastest per row among the sizes tried, within its limit.

    A call takes some time for itself (its way, its queue) and some for each row. Sizes are tried
    in turn while the rows of the next one are expected to take a second at most, so a way of two
    seconds leads to large calls, and a model of 50 ms for each row to calls of some 16.

    Parameters
    ----------
    row_limit : int
        Most rows of a call.
    slots : CallSlots
    """

    has_way = True

    def __init__(self, row_limit: int, slots: CallSlots) -> None:
        super().__init__()
        largest = min(max(1, row_limit // ALIGNMENT) * ALIGNMENT, _SIZES[-1])
        self._sizes = (*(size for size in _SIZES if size < largest), largest)
        self._times = {size: [] for size in self._sizes}
        self.calls_at_once = slots.count
        self._slots = slots

    def clock(self) -> float:
        """Return seconds of this thread, but for those that it waited for a call to end."""
        return self._slots.clock()

    def current(self) -> int:
        """Return the number of rows of the next call."""
        if self._settled is not None:
            return self._settled
        with self._lock:
            return next((size for size in self._sizes if not self._is_tried(size)), self._sizes[-1])

    def rows_side_by_side(self, seconds: float) -> int:
        """Return the rows of pieces of work that keep all calls busy for some seconds."""
        return self.calls_at_once * max(self.rows_in(seconds), self.LARGEST)

    def record(self, size: int, rows: int, seconds: float) -> None:
        """Record the duration of a call with `rows` rows, made at batch size `size`."""
        if self._settled is not None or 2 * rows < size or size not in self._times:
            return
        with self._lock:
            # A call of a piece that ends early has fewer rows; one of the last has up to 15 more.
            self._times[size].append(seconds * min(1.0, size / rows))
            tried = [each for each in self._sizes if self._is_tried(each)]
            if len(tried) == len(self._sizes) or self._is_next_slow(tried):
                self._settled = self._chosen(tried)

    def _is_tried(self, size: int) -> bool:
        times = self._times[size]
        return len(times) >= _TRIALS or min(times, default=0.0) > _LONG_SECONDS

    def _is_next_slow(self, tried: list[int]) -> bool:
        """Return whether the rows of the next size would take too long; unknown after one size.

        Not after calls that are short themselves: chance may be all of their difference.
        """
        following = self._sizes[min(len(tried), len(self._sizes) - 1)]
        if len(tried) < 2 or min(self._times[tried[-1]]) < _TELLING_SECONDS:
            return False
        return following * self._slope(tried) > _MAX_ROW_SECONDS

    def _slope(self, tried: list[int]) -> float:
        """Return the seconds that a further row takes, from the two largest sizes tried."""
        before, last = tried[-2:]
        difference = min(self._times[last]) - min(self._times[before])
        return max(difference, 0.0) / (last - before)

    def _chosen(self, tried: list[int]) -> int:
        row_seconds = {size: min(self._times[size]) / size for size in tried}
        limit = _TOLERANCE * min(row_seconds.values())
        best = max(size for size, seconds in row_seconds.items() if seconds <= limit)
        slope = self._slope(tried) if len(tried) > 1 else 0.0
        if best * slope > _MAX_ROW_SECONDS:
            best = max(ALIGNMENT, int(_MAX_ROW_SECONDS / slope) // ALIGNMENT * ALIGNMENT)
        self._row_seconds = row_seconds[max(size for size in tried if size <= best)]
        return best
