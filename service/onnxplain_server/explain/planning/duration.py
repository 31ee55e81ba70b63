"""Duration of a method, from short measurements: pace of predictions, and trials on few rows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onnxplain_server.effects.background import unmerged
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.curve_prediction import SweepRequest, row_shares_only
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.methods.interactions import prepare
from onnxplain_server.explain.planning.pace import TimedRows, growth, remote_pace
from onnxplain_server.explain.planning.rehearsal import RehearsalEnded, RehearsalHost
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.task import Task
from onnxplain_server.methods import interactions
from onnxplain_server.methods.registry import Options, Result
from onnxplain_server.methods.resampling import Resampling, Scheme

_PARTS = 4
"""Calls of a measurement, side by side as those of a computation."""
_CALL_ROWS = (1, 16, 128, 1_000)
_REPEATS = 2
_MOST_SECONDS = 0.12
"""Time that a measurement may take."""
_SWEEP_ROWS, _SWEPT_ROWS = 64_000, 2_000
_MOST_GROWN_SECONDS = 4.0
"""Time that a trial may take for a second size, without which nothing tells how the time grows."""
_TRIED_REPLICATES = 10
"""Fewest that all methods take."""
_FIRST_ROWS, _GROWTH = 30, 4
"""Rows of the first trial, and how many times as many the next one has."""


@dataclass(frozen=True, slots=True)
class PredictionPace:
    """Rows that are predicted in a second.

    Attributes
    ----------
    rows : float
        Of rows that are each given as a whole.
    moved_rows : float
        Of a background's rows with few features moved, with their averages.
    """

    rows: float
    moved_rows: float


def prediction_pace(request: BoundRequest, *, is_moving: bool) -> PredictionPace:
    """Measure how fast the model predicts, on rows of the table, with no cache and no progress.

    A few hundred rows tell the pace of a slow model, some ten thousand that of a fast one.

    Parameters
    ----------
    is_moving : bool
        Whether the pace of moved rows matters too.
    """
    if request.resources.batch_size.has_way:
        pace = remote_pace(request)
        return PredictionPace(pace, pace)
    rows = _row_pace(request)
    if not is_moving or _SWEEP_ROWS / rows > _MOST_SECONDS / 2:
        return PredictionPace(rows, rows)
    return PredictionPace(rows, _moved_row_pace(request))


def _row_pace(request: BoundRequest) -> float:
    """Time ever larger calls, up to those of a computation, as long as that takes little time."""
    sample, predictor, times = request.sample, request.unplanned, list[TimedRows]()
    for count in _CALL_ROWS:
        if len(times) > 1 and _next_seconds(times, _PARTS * count) > _MOST_SECONDS:
            break
        rows = np.resize(sample.rows, count)
        background = unmerged(sample.features.take(rows), np.ones(count), rows)
        seconds = math.inf
        for _ in range(_REPEATS):  # the first call of a size gets its memory, which takes time
            start = time.perf_counter()
            predictor.in_parallel(
                lambda part: predictor.predict_rows(part.features, part.columns),
                [background] * _PARTS,
            )
            seconds = min(seconds, max(time.perf_counter() - start, 1e-6))
            if times and seconds > _MOST_SECONDS / _REPEATS:
                break
        times.append(TimedRows(_PARTS * count, seconds))
    return times[-1].rows / times[-1].seconds


def _next_seconds(times: Sequence[TimedRows], rows: int) -> float:
    """Return the time of more rows, without what the calls take for themselves."""
    before, last = times[-2:]
    return rows * max(last.seconds - before.seconds, 0.0) / (last.rows - before.rows)


def _moved_row_pace(request: BoundRequest) -> float:
    """Time the sweep of a feature; the second time, buffers and threads are there."""
    drawn = request.sample.drawn[:_SWEPT_ROWS]
    background = request.sample.merged(drawn)
    engine = BlackBox(request.unplanned, background, "")
    feature = int(np.argmax([len(levels) for levels in background.levels]))
    values = background.columns[feature]
    points = np.resize(values, max(1, _SWEEP_ROWS // len(background)))
    shares = row_shares_only(background.weights, len(points))
    sweep = SweepRequest((feature,), (points,), shares)
    seconds = 0.0
    for _ in range(2):
        start = time.perf_counter()
        engine.curve_predictor.sweep_all([sweep])
        seconds = max(time.perf_counter() - start, 1e-6)
    return len(points) * len(background) / seconds


def additive_features(request: BoundRequest, pace: float) -> set[int]:
    """Return the features that interact with no other on few rows, by the model's predictions.

    Interactions of such features are 0 on all rows too, but for models that are constant almost
    everywhere. None are known of a model too slow to try.
    """
    names = request.sample.features.names
    rows = int(min(_TRIED_ROWS[1], math.sqrt(pace * _TRIED_SECONDS / len(names))))
    if rows < _TRIED_ROWS[0] or len(names) < 2:
        return set()
    task = Task(request.trial(rows), "")
    result = prepare(task, interactions.Options(pairwise_feature_count=0)).run()
    return {
        names.index(statistic.features[0])
        for statistic in result.overall
        if not np.any(statistic.numerators)
    }


_TRIED_ROWS, _TRIED_SECONDS = (10, 40), 0.05


@dataclass(frozen=True, slots=True, eq=False)
class ExtrapolatedRun:
    """Time of a method but for its predictions, told by trials on few of its rows.

    Attributes
    ----------
    seconds : float
    result : Result
        Of the last trial.
    """

    seconds: float
    result: Result


# Long: most of it documents the parameters.
def trial(
    task: Task,
    host: RehearsalHost,
    options: Options,
    row_count: int,
    *,
    seconds: float,
    is_quadratic: bool,
) -> ExtrapolatedRun | None:
    """Run a method on ever more rows until it takes some time, and extrapolate.

    Of replicates of the rows, a few are run: all of them take the same time.

    Parameters
    ----------
    task : Task
        On `host`, which ends a trial that takes too long.
    row_count : int
        Rows of the whole method; 0 for one that reads no rows: it then is run as it is.
    seconds : float
        Time after which no further trial begins.
    is_quadratic : bool
        Whether the time may grow with the square of the rows.

    Returns
    -------
    ExtrapolatedRun or None
        None for a method that reads no rows and takes more than four times `seconds`.
    """

    def run(tried: Options) -> ExtrapolatedRun | None:
        return _ladder_run(task, host, tried, row_count, seconds=seconds, is_quadratic=is_quadratic)

    count = _replicate_count(options)
    if count <= _TRIED_REPLICATES:
        return run(options)
    plain, few = (run(_with_replicates(options, tried)) for tried in (0, _TRIED_REPLICATES))
    if plain is None or few is None:
        return None
    each = max(few.seconds - plain.seconds, 0.0) / _TRIED_REPLICATES
    return ExtrapolatedRun(plain.seconds + count * each, _all_replicates(few.result, count))


def _replicate_count(options: Any) -> int:
    """Return the replicates by bootstrap that a method has; 0 without any."""
    own = getattr(options, "resampling", None)
    if not isinstance(own, Resampling) or own.scheme is not Scheme.BOOTSTRAP:
        return 0
    return own.repeat_count


def _with_replicates(options: Any, count: int) -> Any:
    return replace(options, resampling=replace(options.resampling, repeat_count=count))


def _all_replicates(result: Any, count: int) -> Any:
    """Return a result as large as with all replicates, which those of a trial stand for."""
    kept = tuple(
        replace(each, replicates=np.resize(each.replicates, (count, *each.replicates.shape[1:])))
        for each in getattr(result, "replicates", ())
    )
    return replace(result, replicates=kept) if kept else result


def _ladder_run(
    task: Task,
    host: RehearsalHost,
    options: Options,
    row_count: int,
    *,
    seconds: float,
    is_quadratic: bool,
) -> ExtrapolatedRun | None:
    """Run a method as it is on ever more rows; see `trial`."""
    host.deadline = math.inf if row_count else time.monotonic() + 4 * seconds
    times, result = list[TimedRows](), None
    try:
        for rows in _ladder(row_count):
            # Other rows at the second time: what trees count on rows is remembered.
            for number in range(_REPEATS if rows < row_count else 1):
                start = time.perf_counter()
                request = task.request.trial(rows, number) if rows else task.request
                result = preparation_of(options).prepare(Task(request, task.path), options).run()
                times.append(TimedRows(max(rows, 1), max(time.perf_counter() - start, 1e-6)))
                grown = min(_GROWTH**2 * times[-1].seconds, _MOST_GROWN_SECONDS)
                host.deadline = time.monotonic() + max(4 * seconds, grown)
                if not _loaded_something(times):
                    break
            has_two_sizes = rows > times[0].rows
            if has_two_sizes and sum(each.seconds for each in times[1:]) > seconds:
                break
    except RehearsalEnded:
        pass
    finally:
        host.deadline = math.inf
    if result is None:
        return None
    return ExtrapolatedRun(
        _extrapolated(times, max(row_count, 1), is_quadratic=is_quadratic), result
    )


def _ladder(row_count: int) -> Iterator[int]:
    """Yield the rows of trials."""
    rows = min(_FIRST_ROWS, row_count)
    yield rows
    while rows < row_count:
        rows = min(_GROWTH * rows, row_count)
        yield rows


def _loaded_something(times: Sequence[TimedRows]) -> bool:
    """Return whether the last run was the first, or took more time per row than one before."""
    *before, last = times
    least = min((timed.seconds / timed.rows for timed in before), default=0.0)
    return last.seconds / last.rows > least


def _extrapolated(times: Sequence[TimedRows], rows: int, *, is_quadratic: bool) -> float:
    """Return the seconds on all rows: on a line through the last two trials, or a parabola."""
    last = min(times, key=lambda timed: (-timed.rows, timed.seconds))
    if last.rows >= rows:
        return last.seconds
    steps = [timed for timed in times if timed.rows < last.rows]
    if not steps:
        return last.seconds * rows / last.rows
    if is_quadratic:
        return growth(steps[-1], last).seconds(rows)
    mean = last.seconds / last.rows
    slope = (last.seconds - steps[-1].seconds) / (last.rows - steps[-1].rows)
    return last.seconds + min(max(slope, _LEAST_SLOPE * mean), mean) * (rows - last.rows)


_LEAST_SLOPE = 0.1
"""Part of the mean time of a row that each further row takes at least."""
