"""Pace of a model on this machine: rows in a second, and rows of trees in a given time."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.methods.interactions import prepare
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import interactions

_TRIAL_ROWS = 250
"""Rows of the trial of interactions on trees."""
_WARMING_ROWS, _GROWTH = 50, 4
"""Where time may grow with the square of the rows: rows of a run before the trial, and how many
times as many rows a second trial has."""
_PACE_SECONDS, _PACE_ROWS = 0.2, 2_048
"""The pace is measured on twice as many rows until one call takes so long or has so many."""

_LEARNING_SECONDS = 10.0
"""Time after which no further size of calls to a model elsewhere is tried."""


class TimedRows(NamedTuple):
    """Rows of a trial, and seconds that it took."""

    rows: int
    seconds: float


def tree_pace(request: BoundRequest) -> float:
    """Return the rows that trees evaluate in a second, once they are read."""
    trial = request.trial(_PACE_ROWS)
    rows = trial.sample.unmerged(trial.sample.drawn)
    seconds = 0.0
    for _ in range(2):  # The first reads the trees.
        trees = trial.tabular_choice.on(rows)
        start = time.perf_counter()
        for _ in trees.permuted([0], [np.arange(len(rows))]):
            seconds = time.perf_counter() - start
    return len(rows) / max(seconds, 1e-6)


def tree_rows(request: BoundRequest, seconds: float) -> int:
    """Return the rows on which interactions take some seconds, by trials on few."""
    if len(request.sample.features.names) < 2:
        return len(request.sample.rows)
    if not request.tabular_choice.is_quadratic:
        few = _trial(request, _TRIAL_ROWS)
        return int(few.rows * seconds / few.seconds)
    _trial(request, _WARMING_ROWS)  # loads what the first computation needs
    few, many = (_trial(request, rows) for rows in (_TRIAL_ROWS, _GROWTH * _TRIAL_ROWS))
    return int(growth(few, many).rows_within(seconds))


class TimeGrowth(NamedTuple):
    """TimeGrowth of a time with the rows n: a n + b n² seconds.

    Attributes
    ----------
    linear, square : float
        a and b, not negative.
    """

    linear: float
    square: float

    def seconds(self, rows: float) -> float:
        """Return the time of some rows."""
        return self.linear * rows + self.square * rows**2

    def rows_within(self, seconds: float) -> float:
        """Return the rows of some time."""
        linear, square = self
        return 2 * seconds / (linear + math.sqrt(linear**2 + 4 * square * seconds))


def growth(few: TimedRows, many: TimedRows) -> TimeGrowth:
    """Return the growth that two trials tell.

    Rows have cells in common, so time grows with their square on few rows and less on many, by how
    many depends on model and table. Both trials tell a and b; one of them tells b alone.
    """
    slopes = few.seconds / few.rows, many.seconds / many.rows
    square = slopes[0] / few.rows
    if many.rows > few.rows:
        square = max(0.0, (slopes[1] - slopes[0]) / (many.rows - few.rows))
        square = min(square, slopes[1] / many.rows)
    return TimeGrowth(slopes[1] - square * many.rows, square)


def _trial(request: BoundRequest, row_count: int) -> TimedRows:
    """Run interactions with default options on some of the rows."""
    trial = request.trial(row_count)
    job = prepare(Task(trial, "interactions"), interactions.Options())
    start = time.perf_counter()
    job.run()
    return TimedRows(len(trial.sample.drawn), max(time.perf_counter() - start, 1e-6))


def predicted_pace(request: BoundRequest, longest: float = _PACE_SECONDS) -> float:
    """Return the rows that are predicted in a second, by calls of `longest` seconds, about."""
    if request.resources.batch_size.has_way:
        return remote_pace(request)
    count = 1
    while True:
        seconds = _seconds_of(request, count)
        if seconds >= min(longest, _PACE_SECONDS) or count >= _PACE_ROWS:
            return count / max(seconds, 1e-6)
        count *= 2


def remote_pace(request: BoundRequest) -> float:
    """Return the rows that a model elsewhere predicts in a second, by all calls at a time.

    Single rows would tell how long the way is. So the size of calls is learned first, as long as
    that takes little time, and calls of this size are timed; workers tell their time themselves.
    """
    batch_size, start = request.resources.batch_size, time.perf_counter()
    while not batch_size.is_settled and time.perf_counter() - start < _LEARNING_SECONDS:
        _seconds_of(request, batch_size.current())
    told = batch_size.rows_per_second()
    if told is not None:
        return told
    count = batch_size.current()
    seconds = _seconds_of(request, count, parts=batch_size.calls_at_once)
    return batch_size.calls_at_once * count / seconds


def _seconds_of(request: BoundRequest, count: int, parts: int = 1) -> float:
    """Time the prediction of rows of the table, repeated to some number, in parts side by side."""
    sample, predictor = request.sample, request.unplanned
    rows = np.resize(sample.rows, count)
    background = unmerged(sample.features.take(rows), np.ones(count), rows)

    def predict(part: Background) -> None:
        predictor.predict_rows(part.features, part.columns)

    start = time.perf_counter()
    if parts == 1:
        predict(background)
    else:
        predictor.in_parallel(predict, [background] * parts)
    return max(time.perf_counter() - start, 1e-6)
