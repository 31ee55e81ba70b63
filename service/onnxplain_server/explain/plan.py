"""Plan of an explanation: rows to predict, time, memory and size of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from onnxplain_server.core.model import Model
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.explanation import Explanation
from onnxplain_server.explain.methods.compared_outputs import unclear_target
from onnxplain_server.explain.planning.budget import fit_budget
from onnxplain_server.explain.planning.duration import (
    PredictionPace,
    additive_features,
    prediction_pace,
    trial,
)
from onnxplain_server.explain.planning.explanation_plan import ExplanationPlan, MethodPlan
from onnxplain_server.explain.planning.memory import peak_bytes
from onnxplain_server.explain.planning.overview import CURVE_COUNT
from onnxplain_server.explain.planning.overview_pace import plan_overview
from onnxplain_server.explain.planning.rehearsal import (
    Rehearsal,
    RehearsalHost,
    rehearse,
    searches_by_trial,
)
from onnxplain_server.explain.planning.rehearsed_engine import RehearsedBlackBox
from onnxplain_server.explain.planning.savings import TimedPart, savings
from onnxplain_server.explain.planning.surrogate_choice import prepare_within_seconds
from onnxplain_server.explain.prepared_method import prepare_method
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.rows.surrogate_budget import may_be_estimated
from onnxplain_server.explain.sample import BoundTable
from onnxplain_server.explain.task import Task
from onnxplain_server.explain.use_case import check_question
from onnxplain_server.methods.registry import Options, Result, method_of
from onnxplain_server.plots.registry import draw_all

SizeOf = Callable[[Explanation], int]
"""Bytes of an explanation in the answer."""

_TRIAL_SECONDS = 0.08
"""Time of the trials of all methods together."""


class _Part(NamedTuple):
    """A method, on rows of its own where an overview sets them."""

    request: BoundRequest
    options: Options
    path: str


def plan_explanation(
    model: Model | None,
    table: BoundTable | None,
    question: Question,
    resources: Resources,
    size_of: SizeOf,
) -> ExplanationPlan:
    """Plan an explanation; arguments and errors are those of `explain`.

    It takes some tenths of a second, and a model that is slow predicts some hundred rows.
    """
    check_question(question)
    host, additive = RehearsalHost(resources.host), set[int]()
    rows_once = bool(question.methods) and all(
        preparation_of(options).rows_once for options in question.methods
    )

    def bound(own: Resources) -> BoundRequest:
        given = replace(own, host=host)
        request = BoundRequest(model, table, question, given, rows_once=rows_once)
        return prepare_within_seconds(request)[0].request if may_be_estimated(request) else request

    engine = partial(RehearsedBlackBox, additive=additive)
    request = bound(replace(resources, black_box=engine))
    parts = _parts(request, lambda: bound(resources))
    declared = [preparation_of(part.options) for part in parts]
    is_moving = any(own.moves_few_features for own in declared)
    pace = prediction_pace(request, is_moving=is_moving) if _may_predict(request) else None
    is_estimate = request.question.engine is Engine.SURROGATE
    if pace and not is_estimate and any(own.leaves_out_additive for own in declared):
        additive |= additive_features(bound(resources), pace.rows)
    rehearsals = [_rehearse(part, host, pace.rows if pace else 0.0) for part in parts]
    measuring = _Measuring(host, pace, size_of, _TRIAL_SECONDS / len(parts))
    methods = tuple(map(measuring.method, parts, rehearsals))
    answer_bytes = sum(method.answer_bytes or 0 for method in methods)
    timed = [
        TimedPart(p.request, p.options, p.path, r.job, method.seconds, method.row_count)
        for p, r, method in zip(parts, rehearsals, methods, strict=True)
    ]
    return ExplanationPlan(methods, peak_bytes(request, methods, answer_bytes), savings(timed))


def _parts(request: BoundRequest, real: Callable[[], BoundRequest]) -> Sequence[_Part]:
    """Return the methods requested, or those of an overview with the first features' curves."""
    question, methods = request.question, request.question.methods
    if methods and (question.budget_seconds or question.budget_predicted_row_count):
        return list(_within_budget(request, real()))
    if methods:
        return [
            _Part(request, options, f"methods[{i}].{method_of(options).name}")
            for i, options in enumerate(methods)
        ]
    request.require_model()
    overview = plan_overview(request)
    has_target = bool(request.question.targets) and not unclear_target(request)
    parts = []
    if has_target:
        parts = [*overview.losses(None), *overview.importances(), *overview.values()]
    parts += overview.pairs()
    curves = overview.curves(overview.drawn_names[:CURVE_COUNT])
    return [
        _Part(
            request if part.row_count is None else request.with_row_count(part.row_count),
            part.options,
            method_of(part.options).name,
        )
        for part in (*parts, *([curves] if curves else ()))
    ]


def _within_budget(request: BoundRequest, real: BoundRequest) -> Iterator[_Part]:
    """Yield the methods on the rows that their budget allows."""
    prepared = [
        prepare_method(real, options, f"methods[{i}].{method_of(options).name}")
        for i, options in enumerate(request.question.methods)
    ]
    for method in fit_budget(real, prepared)[0]:
        rows = method.request.question.row_count
        own = request if rows is None else request.with_row_count(rows)
        yield _Part(own, method.job.options, method.path)


def _may_predict(request: BoundRequest) -> bool:
    """Return whether there are rows to predict for another engine than trees."""
    if not request.has_model or request.given_table is None:
        return False
    declared = [preparation_of(options) for options in request.question.methods]
    if any(own.is_alone for own in declared):
        return False
    is_predicted = any(own.is_predicted_on_trees for own in declared)
    return is_predicted or request.tabular_choice.predicts


def _rehearse(part: _Part, host: RehearsalHost, pace: float) -> Rehearsal:
    request, options = part.request, part.options
    if request.has_model and request.given_table is not None:
        names = request.sample.features.names
        costliest = preparation_of(options).costliest
        options = costliest(options, len(names), len(request.output_indices))
    return rehearse(request, host, options, part.path, pace)


class _Measuring(NamedTuple):
    """Measurement of the methods of a request.

    Attributes
    ----------
    host : RehearsalHost
    pace : PredictionPace or None
        None where nothing is predicted.
    size_of : callable (Explanation) -> int
    seconds : float
        Time for the trials of a method.
    """

    host: RehearsalHost
    pace: PredictionPace | None
    size_of: SizeOf
    seconds: float

    def method(self, part: _Part, rehearsal: Rehearsal) -> MethodPlan:
        """Return the plan of a method."""
        job, choice = rehearsal.job, part.request.choice
        rows = job.rows.drawn if job.rows else 0
        other, result = self._without_predictions(part, rehearsal, rows)
        size, drawing = self._size(rehearsal, result, plots=part.request.question.plots)
        if result is None:
            size = preparation_of(job.options).answer_bytes(
                part.request,
                job,
                lambda own: self.size_of(Explanation(job.options, own, (), job.rows, job.pairings)),
            )
        return MethodPlan(
            method_of(job.options).name,
            job.options,
            choice.engine if choice else None,
            choice.reason if choice else "",
            rows,
            rehearsal.predicted,
            rehearsal.cached,
            rehearsal.is_exact,
            self._prediction_seconds(rehearsal),
            other + drawing,
            size,
        )

    def _prediction_seconds(self, rehearsal: Rehearsal) -> float:
        if self.pace is None or rehearsal.has_predicted:
            return 0.0
        is_moving = preparation_of(rehearsal.job.options).moves_few_features
        return rehearsal.predicted / (self.pace.moved_rows if is_moving else self.pace.rows)

    def _without_predictions(
        self, part: _Part, rehearsal: Rehearsal, rows: int
    ) -> tuple[float, Result | None]:
        """Return the seconds of all but predictions, and a result of the right size, if known."""
        if rehearsal.seconds is not None:
            return rehearsal.seconds, rehearsal.result
        job, request = rehearsal.job, part.request
        own, choice = preparation_of(job.options), request.choice
        if searches_by_trial(job):
            return rehearsal.predicted * _TRIED_ROW_SECONDS, None
        seconds = own.seconds(request, job)
        if seconds is not None:
            return seconds, None
        is_quadratic = own.is_quadratic_on_trees and choice is not None and choice.is_quadratic
        task = Task(request, part.path)
        tried = trial(
            task, self.host, part.options, rows, seconds=self.seconds, is_quadratic=is_quadratic
        )
        return (tried.seconds, tried.result) if tried else (_UNKNOWN_SECONDS, None)

    def _size(
        self, rehearsal: Rehearsal, result: Result | None, *, plots: bool
    ) -> tuple[int | None, float]:
        """Return the bytes of an explanation, and the seconds of drawing and writing it."""
        if result is None:
            return None, 0.0
        start, job = time.perf_counter(), rehearsal.job
        drawn = draw_all([result])[0] if plots else ()
        size = self.size_of(Explanation(job.options, result, drawn, job.rows, job.pairings))
        return size, time.perf_counter() - start


_TRIED_ROW_SECONDS = 5e-7
"""Moving a row of a search, and comparing its prediction."""
_UNKNOWN_SECONDS = 10 * _TRIAL_SECONDS
"""Of a method of which not even a trial on few rows ended in time."""
