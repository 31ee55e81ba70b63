"""Budget of a request with methods: its rows and repetitions, as far as a budget reaches.

A budget is resolved once, before the first statistic. All later names of numbers have the resolved
rows and options in them, and no time; and an equal request, or one that is resumed, finds the
resolved size in the cache.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning.remembered import remembered
from onnxplain_server.explain.planning.sized_methods import Size, SizedMethods
from onnxplain_server.explain.planning.time_trials import TimeTrials
from onnxplain_server.explain.prepared_method import PreparedMethod
from onnxplain_server.plots.elements.labels import enumerate_words

_FEWEST_ROWS = 30
"""Rows below which a request is refused."""
_ENOUGH_ROWS = 100
"""Rows below which repetitions are saved first."""
_STEP = 1.02
"""Ratio between the numbers of rows that are tried."""


def fit_budget(
    request: BoundRequest, whole: Sequence[PreparedMethod]
) -> tuple[Sequence[PreparedMethod], tuple[Note, ...]]:
    """Prepare methods on as many rows as the budget of the request allows, and tell of it.

    Parameters
    ----------
    request : BoundRequest
    whole : sequence of PreparedMethod
        Its methods, as they are without a budget.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the budget does not reach for the fewest rows.
    """
    methods = SizedMethods(request, whole)
    if not methods.row_count:
        return whole, ()
    # Trials count from here.
    trials = TimeTrials(methods, request.question.budget_seconds or math.inf)
    resolved = remembered(
        request, "budgeted size", 2, lambda: np.array(_resolve(methods, trials), float)
    )
    row_count, saving_step = map(int, resolved.tolist())
    sized = methods.at(Size(row_count, saving_step))
    changes = list(methods.changes(sized))
    has_fewer_rows = row_count < methods.row_count
    notes = (_reduced(request, changes, has_fewer_rows=has_fewer_rows),) if changes else ()
    return sized, notes


def _resolve(methods: SizedMethods, trials: TimeTrials) -> Size:
    """Return the size that fits into both budgets."""
    size, question = Size(methods.row_count), methods.request.question
    if question.budget_predicted_row_count is not None:
        size = _within_predictions(methods, size, question.budget_predicted_row_count)
    if question.budget_seconds is not None:
        size = _within_seconds(methods, trials, size)
    return size


def _steps(methods: SizedMethods, size: Size) -> Iterator[Size]:
    """Yield steps by which repetitions are saved, each with the fewest rows that are enough."""
    last = methods.saving_steps
    for step in range(size.saving_step, last):
        yield Size(min(_ENOUGH_ROWS, size.row_count), step)
    yield Size(min(_FEWEST_ROWS, size.row_count), last)


def _within_predictions(methods: SizedMethods, most: Size, limit: float) -> Size:
    """Return the largest size at which so many rows are predicted."""

    def predicted(size: Size) -> int:
        return sum(method.predicted_row_count for method in methods.at(size))

    if predicted(most) <= limit:
        return most
    fewest = min(_FEWEST_ROWS, most.row_count)
    count = 1 + math.ceil(math.log(most.row_count / fewest, _STEP))
    row_counts = np.unique(np.geomspace(fewest, most.row_count, count).astype(int)).tolist()
    for enough in _steps(methods, most):
        sizes = [enough._replace(row_count=rows) for rows in row_counts if rows >= enough.row_count]
        fitting = bisect_right(sizes, limit, key=predicted)
        if fitting:
            return sizes[fitting - 1]
    needed = predicted(Size(fewest, methods.saving_steps))
    raise _too_small("budget_predicted_row_count", f"predict {needed:,} rows", needed, fewest)


def _within_seconds(methods: SizedMethods, trials: TimeTrials, most: Size) -> Size:
    """Return the largest size at which the methods are expected to take the remaining time."""
    for enough in _steps(methods, most):
        rows = trials.rows_within(enough._replace(row_count=most.row_count))
        if rows >= enough.row_count:
            return enough._replace(row_count=rows)
    if trials.fits(enough):
        return enough
    needed = _two_digits_up(trials.seconds_needed(enough))
    raise _too_small("budget_seconds", f"take about {needed:,} s", needed, enough.row_count)


def _too_small(field: str, work: str, needed: float, row_count: int) -> ExplainError:
    return ExplainError(
        Reason.INVALID_OPTION,
        f"the methods {work} on {row_count} rows, the fewest that a budget goes down to; set "
        f"{field} to {needed:,} or more, or ask for fewer methods or features",
        field,
    )


def _two_digits_up(seconds: float) -> int:
    unit = int(10 ** max(0, math.floor(math.log10(seconds)) - 1))
    return math.ceil(seconds / unit) * unit


def _reduced(request: BoundRequest, changes: Sequence[str], *, has_fewer_rows: bool) -> Note:
    question, limits, fields = request.question, [], []
    if question.budget_seconds is not None:
        limits.append(f"take about {question.budget_seconds:g} s")
        fields.append("budget_seconds")
    if question.budget_predicted_row_count is not None:
        limits.append(f"predict at most {question.budget_predicted_row_count:,.0f} rows")
        fields.append("budget_predicted_row_count")
    what, more = "of fewer repetitions", "more"
    if has_fewer_rows:
        what, more = "on fewer rows", "more rows"
    message = (
        f"To {' and '.join(limits)}, {enumerate_words(changes)}. Numbers {what} err more: "
        f"on a quarter of them about twice as much. Raise {' and '.join(fields)} for {more}."
    )
    return Note(InputWarning.BUDGET_REDUCED, message)
