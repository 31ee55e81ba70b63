"""Time trials: methods of a request run on few rows, to tell on how many rows they fit a time."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from functools import cached_property

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.planning.pace import TimedRows, TimeGrowth, growth, predicted_pace
from onnxplain_server.explain.planning.repetition_seconds import RepetitionSeconds
from onnxplain_server.explain.planning.sized_methods import Size, SizedMethods
from onnxplain_server.methods.registry import Options

_FIRST_ROWS, _FEWEST_ROWS = 64, 4
"""Rows of the first trial; fewer for models that predict slowly."""
_FIRST_SHARE, _LAST_SHARE, _LARGEST_SHARE = 0.02, 0.06, 0.12
"""Shares of the time: of the first trial at most, of the last at least, of any at most."""
_GROWTH, _SMALL_SHARE, _SMALL_GROWTH = 2, 0.005, 4
"""Ratio of rows from a trial to the next one; and while trials take less than a small share."""
_WORTHWHILE = 1.3
"""Ratio below which a further trial tells nothing new."""
_TRIALS_SHARE = 0.3
"""Share of the time that trials take together, at most."""
_PLANNED_SHARE = 0.8
"""Share of the remaining time that is planned for, as extrapolations err."""
_SURE = 2.0
"""A request that is expected to fit so many times needs no further trial."""
_NO_GROWTH = TimeGrowth(1e-9, 0.0)
"""Of methods whose time is that of their predictions, or of their repetitions."""
_ENDED = (Reason.CANCELLED, Reason.DEADLINE_EXCEEDED)


class TimeTrials:
    """Trials of the methods of a request; the time counts from their creation.

    Parameters
    ----------
    methods : SizedMethods
    budget : float
        Seconds for trials and methods.
    """

    def __init__(self, methods: SizedMethods, budget: float) -> None:
        self._methods = methods
        self._budget = budget
        self._repeated = RepetitionSeconds(methods, budget)
        self._start = time.perf_counter()
        self._growth: TimeGrowth | None = None
        self._measured = math.inf
        self._tried: list[Options] = []

    def rows_within(self, most: Size) -> int:
        """Return the most rows, up to those of a size, on which the methods take the time left."""
        if self._methods.request.resources.batch_size.has_way:
            self._use_pace()
            return self._rows_in_time(most)
        options = [method.job.options for method in self._methods.at(most)]
        if options != self._tried:
            self._tried = options
            if self._try(most):
                return most.row_count
        return self._rows_in_time(most)

    def _try(self, most: Size) -> bool:
        """Try the methods on ever more rows; return whether they surely fit at this size."""
        if all(map(self._repeated.are_of, self._methods.at(most))):
            self._growth = _NO_GROWTH
            return False
        rows, few, many = self._first_rows(most), None, None
        if not rows:
            self._use_pace()
            return False
        self._time(most._replace(row_count=rows))  # loads what the first run needs
        while rows:
            few, many = many, self._time(most._replace(row_count=rows)) or many
            if many is not None:
                self._growth = growth(few or many, many)
                self._measured = self._pace_of(many, most)
                if self._seconds(most) * _SURE <= self._remaining:
                    return True
            rows = self._next_rows(rows, many, most.row_count)
        return many is None  # The methods' own error tells what is missing.

    def _use_pace(self) -> None:
        """Tell time by the pace of predictions alone.

        Trials do not serve where even those on the fewest rows take long, nor for a model behind an
        address, where they have few rows for each call, and tell how long their way is.
        """
        if self._growth is None:
            self._measured, self._growth = self._pace, _NO_GROWTH

    def fits(self, size: Size) -> bool:
        """Return whether the methods are expected to take the remaining time at most."""
        return self._growth is not None and (
            self._seconds(size) * _PLANNED_SHARE <= self._remaining
        )

    def seconds_needed(self, size: Size) -> float:
        """Return a budget that is expected to reach for trials, and methods at a size."""
        expected = self._seconds(size) if self._growth else 0.0
        if predicted := self._predicted(size):
            expected = max(expected, predicted / self._pace)
        return max(expected, self._budget) / (_PLANNED_SHARE * (1 - _TRIALS_SHARE))

    @property
    def _elapsed(self) -> float:
        return time.perf_counter() - self._start

    @property
    def _remaining(self) -> float:
        """Seconds of the budget that can be planned with."""
        return _PLANNED_SHARE * max(self._budget - self._elapsed, 1e-6)

    def _seconds(self, size: Size) -> float:
        """Extrapolate to a size: by the growth of the trials, and by the rows to predict.

        A constant part of short trials hides the square of the rows; the rows to predict do not.
        """
        grown = self._growth.seconds(size.row_count) if self._growth else 0.0
        return max(grown, self._predicted(size) / self._measured) + self._repeated.at(size)

    def _pace_of(self, trial: TimedRows, most: Size) -> float:
        """Return the rows that a trial predicted in a second; infinite if it predicted none."""
        predicted = self._predicted(most._replace(row_count=trial.rows))
        return predicted / trial.seconds if predicted else math.inf

    def _rows_in_time(self, most: Size) -> int:
        if self._growth is None:
            return 0
        rows = min(most.row_count, int(self._growth.rows_within(self._remaining)))
        sizes = range(1, rows + 1)
        return bisect_right(
            sizes, self._remaining, key=lambda count: self._seconds(most._replace(row_count=count))
        )

    def _first_rows(self, most: Size) -> int:
        """Return the rows of the first trial: so few that slow predictions are a small part."""
        rows = min(_FIRST_ROWS, most.row_count)
        if not self._predicted(most._replace(row_count=rows)):
            return rows
        affordable = self._pace * self._budget
        while rows > _FEWEST_ROWS and self._predicted(most._replace(row_count=rows)) > (
            affordable * _FIRST_SHARE
        ):
            rows //= 2
        is_short = self._predicted(most._replace(row_count=rows)) <= affordable * _LARGEST_SHARE
        return rows if is_short else 0

    @cached_property
    def _pace(self) -> float:
        return predicted_pace(self._methods.request, _FIRST_SHARE * self._budget)

    def _predicted(self, size: Size) -> int:
        prepared = self._methods.at(size, is_trial=True)
        return sum(method.predicted_row_count for method in prepared)

    def _next_rows(self, rows: int, last: TimedRows | None, most: int) -> int:
        """Return the rows of the next trial; 0 for none."""
        seconds = last.seconds if last else 0.0
        if rows >= most or seconds >= _LAST_SHARE * self._budget:
            return 0
        ratio = _SMALL_GROWTH if seconds < _SMALL_SHARE * self._budget else _GROWTH
        following = min(rows * ratio, most)
        if self._growth is not None:
            largest = self._growth.rows_within(_LARGEST_SHARE * self._budget)
            following = min(following, int(largest))
        return following if following >= min(_WORTHWHILE * rows, most) else 0

    def _time(self, size: Size) -> TimedRows | None:
        """Run the methods on some of the rows; None where they are too few for a method."""
        start = time.perf_counter()
        try:
            for method in self._methods.at(size, is_trial=True):
                if not self._repeated.are_of(method):
                    method.job.run()
        except ExplainError as error:
            if error.reason in _ENDED:
                raise
            return None
        return TimedRows(size.row_count, max(time.perf_counter() - start, 1e-6))
