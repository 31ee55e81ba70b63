"""Batch size of calls that run on workers, learned from the processor time that workers tell."""

from __future__ import annotations

import threading

from onnxplain_server.effects.batch_size import ALIGNMENT, BatchSize

_SIZES = (16, 128, 1_024, BatchSize.LARGEST)
_TASK_SECONDS = 1.0
"""Time of a task that is worth its way, and after which a computation can be cancelled."""
_TELLING_SECONDS = 0.1
"""Time of a call that tells how long others take."""
MOST_TOGETHER = 8
"""Calls that are one task, where they are short: a task has a way of its own, of some 5 ms."""
CALLS_AHEAD = 2 * MOST_TOGETHER
"""Calls under way for each task that runs: two tasks of short calls, so workers wait for nobody."""
MOST_CALLS = 4_096
"""Calls under way where nothing else bounds them: each has a thread."""


class WorkerBatchSize(BatchSize):
    """Batch size of a model whose calls run on workers: as many rows as take a second, at most.

    Attributes
    ----------
    calls_at_once : int
        Calls that are under way at a time.
    width : int
        Calls that workers run at the same time; the others wait there.
    """

    has_way = True

    def __init__(self) -> None:
        super().__init__()
        self.calls_at_once = self.width = 1
        self._told = threading.local()
        self._tried: dict[int, float] = {}

    def clock(self) -> float:
        """Return the seconds that workers spent on the calls of this thread."""
        return float(getattr(self._told, "seconds", 0.0))

    def tell(self, seconds: float) -> None:
        """Count the processor seconds of a call that this thread made."""
        self._told.seconds = self.clock() + seconds

    def current(self) -> int:
        """Return the number of rows of the next call."""
        if self._settled is not None:
            return self._settled
        return next((size for size in _SIZES if size not in self._tried), _SIZES[-1])

    @property
    def calls_together(self) -> int:
        """Number of calls that are one task."""
        if self._settled is None:
            return 1
        call_seconds = self._settled * self._row_seconds
        return max(1, min(MOST_TOGETHER, int(_TASK_SECONDS / call_seconds)))

    def rows_side_by_side(self, seconds: float) -> int:
        """Return the rows of pieces of work that keep all workers busy for some seconds."""
        return self.calls_at_once * max(self.rows_in(seconds), self.LARGEST)

    def rows_per_second(self) -> float | None:
        """Return the rows that all workers predict in a second; None until that is known."""
        return self.width / self._row_seconds if self.is_settled else None

    def record(self, size: int, rows: int, seconds: float) -> None:
        """Record the processor time of a call with `rows` rows, made at batch size `size`."""
        with self._lock:
            if self._settled is not None or 2 * rows < size:
                return
            row_seconds = seconds / rows
            self._tried[size] = min(row_seconds, self._tried.get(size, row_seconds))
            if seconds > _TELLING_SECONDS or size >= self.LARGEST:
                self._row_seconds = max(self._tried[size], 1e-9)
                rows_of_task = int(_TASK_SECONDS / self._row_seconds) // ALIGNMENT * ALIGNMENT
                self._settled = min(max(ALIGNMENT, rows_of_task), self.LARGEST)
