"""Effort of attributions: seconds, by trials on few rows, and the bytes of an answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.methods.attributions.preparation import prepare
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.attributions import Options, Result

_MOST_TRIED = 3
"""Rows whose values are timed for a plan, where they are estimated."""
_FEW_TRIED, _MANY_TRIED = 30, 300
"""Rows explained, and of the background, that are timed where values are exact."""
_MARK = 120
"""Bytes of a point of a plot."""
_POINTS, _SHOWN, _SHOWN_OUTPUTS, _ALONG = 250, 10, 3, 3
"""Rows of a plot, about, and most features and outputs that are shown by row, or along features."""


def seconds(request: BoundRequest, job: Job[Result]) -> float | None:
    """Time values that trees give without predicting, by trials on few rows.

    Estimates from trees behind a link take little more time on a larger background: one and three
    rows are tried on all of it. Exact values grow with the rows explained and with the background.
    """
    choice, options = request.choice, job.options
    if choice is None or choice.predicts or not isinstance(options, Options):
        return None
    background = job.rows.drawn if job.rows else 0
    explained = _explained_count(request.sample, options)
    if request.effects.exact_attributions() is not None:
        return _exact_seconds(request, options, background, explained)
    one, more = (
        _seconds_of(request.trial(background, number), _only(options, rows))
        for number, rows in ((1, 1), (2, _MOST_TRIED))
    )
    return one + max(more - one, 0.0) / (_MOST_TRIED - 1) * (explained - 1)


def _exact_seconds(
    request: BoundRequest, options: Options, background: int, explained: int
) -> float:
    """Extrapolate along rows of the background and rows explained, each with few of the others."""
    counts = background, explained
    few, many = (tuple(min(most, n) for n in counts) for most in (_FEW_TRIED, _MANY_TRIED))

    def timed(number: int, rows: int, own: int) -> float:
        return _seconds_of(request.trial(rows, number), _only(options, own))

    least = timed(1, *few)
    total = least
    for number, tried in ((2, (many[0], few[1])), (3, (few[0], many[1]))):
        further = sum(tried) - sum(few)
        if further:
            rest = counts[number - 2] - few[number - 2]
            total += max(timed(number, *tried) - least, 0.0) / further * rest
    return total


def answer_bytes(
    request: BoundRequest, job: Job[Result], bytes_of: Callable[[Result], int]
) -> int | None:
    """Return the bytes of an answer: those of few rows explained, extrapolated, and of plots."""
    choice, options = request.choice, job.options
    if choice is None or choice.predicts or not isinstance(options, Options):
        return None
    count = _explained_count(request.sample, options)
    trial = request.trial(min(job.rows.drawn if job.rows else 0, _FEW_TRIED), 1)
    tried = min(count, _MOST_TRIED)
    one, more = (
        bytes_of(prepare(Task(trial, ""), _only(options, rows)).run()) for rows in (1, tried)
    )
    size = one + round((more - one) / max(tried - 1, 1) * (count - 1))
    if not request.question.plots:
        return size
    players = len(options.players(request.sample.features.names))
    outputs = len(trial.effects.output_names)
    by_feature = min(count, _POINTS) * min(players, _SHOWN) * min(outputs, _SHOWN_OUTPUTS)
    return size + _MARK * (by_feature + min(count, _POINTS) * min(players, _ALONG))


def _explained_count(sample: Sample, options: Options) -> int:
    if options.explained_rows is not None:
        return options.explained_rows.n_rows
    return len(options.row_indices) or min(options.explained_row_count, len(sample.rows))


def _only(options: Options, count: int) -> Options:
    """Return options for some of the rows explained."""
    given = options.explained_rows
    return replace(
        options,
        row_indices=options.row_indices[:count],
        explained_row_count=min(options.explained_row_count, count),
        explained_rows=given and given.take(np.arange(count)),
    )


def _seconds_of(request: BoundRequest, options: Options) -> float:
    """Time a run, once what it loads is there."""
    seconds = math.inf
    for _ in range(2):
        start = time.perf_counter()
        prepare(Task(request, ""), options).run()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds
