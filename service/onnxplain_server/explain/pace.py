"""Pace of a model on this machine: rows in a second, and rows of trees in a given time."""

from __future__ import annotations

import math
import time

import numpy as np

from onnxplain_server.effects.background import unmerged
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.methods.interactions import prepare
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import interactions

_TRIAL_ROWS = 250
"""Rows of the trial of interactions on trees."""
_PACE_SECONDS, _PACE_ROWS = 0.2, 2_048
"""The pace is measured on twice as many rows until one call takes so long or has so many."""


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
    """Return the rows on which interactions take some seconds, by a trial on few."""
    if len(request.sample.features.names) < 2:
        return len(request.sample.rows)
    trial = request.trial(_TRIAL_ROWS)
    job = prepare(Task(trial, "interactions"), interactions.Options())
    start = time.perf_counter()
    job.run()
    ratio = seconds / max(time.perf_counter() - start, 1e-6)
    rows = len(trial.sample.drawn)
    grown = rows * (math.sqrt(ratio) if request.tabular_choice.is_quadratic else ratio)
    return int(grown)


def predicted_pace(request: BoundRequest) -> float:
    """Return the rows that are predicted in a second."""
    sample, count = request.sample, 1
    while True:
        rows = np.resize(sample.rows, count)
        background = unmerged(sample.features.take(rows), np.ones(count), rows)
        start = time.perf_counter()
        request.unplanned.predict_rows(background.features, background.columns)
        seconds = time.perf_counter() - start
        if seconds >= _PACE_SECONDS or count >= _PACE_ROWS:
            return count / max(seconds, 1e-6)
        count *= 2
