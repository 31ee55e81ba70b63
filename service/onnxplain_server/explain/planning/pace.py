"""Pace of a model on this machine: rows in a second, and rows of trees in a given time."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from onnxplain_server.effects.background import unmerged
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
    sample, count = request.sample, 1
    while True:
        rows = np.resize(sample.rows, count)
        background = unmerged(sample.features.take(rows), np.ones(count), rows)
        start = time.perf_counter()
        request.unplanned.predict_rows(background.features, background.columns)
        seconds = time.perf_counter() - start
        if seconds >= min(longest, _PACE_SECONDS) or count >= _PACE_ROWS:
            return count / max(seconds, 1e-6)
        count *= 2
