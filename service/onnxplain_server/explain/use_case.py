"""Use case `explain`: prepare each method, reserve its cost, run it, draw its plots."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.explain.answers.explanation import (
    explanations_of,
    method_notes,
    naming_of,
)
from onnxplain_server.explain.answers.partial import PartialAnswer
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.class_labels import check_target_given
from onnxplain_server.explain.expected_predictions.compare import (
    ComparisonJob,
    comparison_notes,
    prepare_comparison,
)
from onnxplain_server.explain.expected_predictions.comparison import PredictionComparison
from onnxplain_server.explain.explanation import Explanation
from onnxplain_server.explain.methods.compared_outputs import unclear_target
from onnxplain_server.explain.prepared_method import (
    PreparedMethod,
    prepare_method,
    prepare_methods,
)
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.rows.one_hot_columns import one_hot_notes
from onnxplain_server.explain.rows.prediction_checks import check_prediction
from onnxplain_server.explain.rows.row_notes import rows_drawn, rows_not_clustered
from onnxplain_server.explain.rows.surrogate_budget import check_surrogate, may_be_estimated
from onnxplain_server.explain.sample import BoundTable
from onnxplain_server.explain.task import Job
from onnxplain_server.methods.registry import Result, method_of

if TYPE_CHECKING:
    from onnxplain_server.explain.planning.overview import OverviewPlan
    from onnxplain_server.explain.planning.overview_part import Part
    from onnxplain_server.methods import partial_dependence


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Answer to a request: explanations, warnings, and the counts of the contract's `Receipt`.

    Attributes
    ----------
    overview_methods : tuple of (str, int or None)
        Name and `row_count` of each method of an overview; empty if the request named methods.
    """

    explanations: tuple[Explanation, ...]
    notes: tuple[Note, ...]
    predicted_row_count: int
    cache_hit_count: int
    cache_miss_count: int
    engine: Engine | None
    engine_reason: str
    overview_methods: tuple[tuple[str, int | None], ...] = ()
    prediction_comparison: PredictionComparison | None = None

    @property
    def has_predictions(self) -> bool:
        """Return whether numbers depend on predictions of the model, also on cached ones."""
        return self.engine in {Engine.BLACK_BOX, Engine.SURROGATE} or self.predicted_row_count > 0

    @property
    def row_count(self) -> int:
        """Largest number of rows that a method drew."""
        counts = (e.rows.drawn for e in self.explanations if e.rows)
        return max(counts, default=0)


def explain(
    model: Model | None, table: BoundTable | None, question: Question, resources: Resources
) -> Answer:
    """Explain a model by the methods of a question.

    Parameters
    ----------
    model : Model or None
        None if no method needs one.
    table : BoundTable or None
        Bound to the model by the same question. None if no method needs one.

    Raises
    ------
    ExplainError
        With the path of the request's field if one is to blame.
    """
    check_question(question)
    if not question.methods:
        request = BoundRequest(model, table, question, resources, rows_once=False)
        return _overview(request, prepare_comparison(request, table))
    preparations = [preparation_of(options) for options in question.methods]
    _check_alone([preparation.is_alone for preparation in preparations])
    rows_once = all(preparation.rows_once for preparation in preparations)
    request = BoundRequest(model, table, question, resources, rows_once=rows_once)
    prepared = _prepared(request)
    request = prepared[0].request
    sized, notes = _within_budget(request, prepared)
    comparing = prepare_comparison(request, table)
    _reserve(request, sum(method.job.cost for method in sized) + _cost(comparing))
    comparison = comparing.run() if comparing else None
    partial = PartialAnswer(request)
    answer = _answer(request, sized, [partial.run(method) for method in sized])
    notes = (*comparison_notes(comparison), *answer.notes, *notes)
    return replace(answer, notes=notes, prediction_comparison=comparison)


def _cost(comparing: ComparisonJob | None) -> int:
    return comparing.cost if comparing else 0


def _prepared(request: BoundRequest) -> Sequence[PreparedMethod]:
    """Prepare the methods, for the engine SURROGATE where predictions would take too long."""
    if not may_be_estimated(request):
        return prepare_methods(request)
    from onnxplain_server.explain.planning.surrogate_choice import prepare_within_seconds

    return prepare_within_seconds(request)


def _within_budget(
    request: BoundRequest, prepared: Sequence[PreparedMethod]
) -> tuple[Sequence[PreparedMethod], tuple[Note, ...]]:
    """Prepare methods on fewer rows where the request has a budget, with the warning."""
    question = request.question
    if question.budget_seconds is None and question.budget_predicted_row_count is None:
        return prepared, ()
    from onnxplain_server.explain.planning.budget import fit_budget

    return fit_budget(request, prepared)


def _reserve(request: BoundRequest, cost: int) -> None:
    """Report the plan, so that the host can refuse it before anything is predicted."""
    request.ledger.reserve(cost)
    request.ledger.release(0)


def _overview(request: BoundRequest, comparing: ComparisonJob | None) -> Answer:
    """Explain by the methods of an overview, the curves last: they depend on the other results."""
    from onnxplain_server.explain.planning.correlations import notes_of_overview
    from onnxplain_server.explain.planning.overview_curves import curves_of, text_notes
    from onnxplain_server.explain.planning.overview_pace import plan_overview

    request.require_model()
    plan = plan_overview(request)
    has_target = bool(request.question.targets)
    unclear = unclear_target(request) if has_target else ()
    has_target = has_target and not unclear
    parts = [*(_losses(request, plan) if has_target else ()), *plan.pairs()]
    prepared = [_prepare_part(request, part) for part in parts]
    cost = sum(method.job.cost for method in prepared) + plan.curve_cost
    _reserve(request, cost + _cost(comparing))
    comparison = comparing.run() if comparing else None
    partial = PartialAnswer(request)
    results = [partial.run(method) for method in prepared]

    by_role = {part.role: result for part, result in zip(parts, results, strict=True)}
    curves = curves_of(plan, by_role, request)
    drawn: Sequence[partial_dependence.PartialDependenceCurve] = ()
    if curves is not None:
        parts.append(curves)
        prepared.append(_prepare_part(request, curves))
        request.ledger.release(plan.curve_cost - prepared[-1].job.cost)
        results.append(partial.run(prepared[-1]))
        drawn = cast("partial_dependence.Result", results[-1]).curves
    methods = tuple((method_of(part.options).name, part.row_count) for part in parts)
    answer = _answer(request, prepared, results)
    notes = (*comparison_notes(comparison), *answer.notes, *unclear)
    notes += (*plan.notes(parts, has_target=has_target), *text_notes(plan))
    notes += notes_of_overview(request, drawn)
    return replace(answer, notes=notes, overview_methods=methods, prediction_comparison=comparison)


def _losses(request: BoundRequest, plan: OverviewPlan) -> list[Part]:
    """Return the losses, importances and values of an overview with a target."""
    from onnxplain_server.explain.planning.overview_part import further_losses

    parts = list(plan.losses(None))
    for part in tuple(parts):
        chosen: Any = _prepare_part(request, part).job.options
        parts += plan.losses(*further_losses(chosen, request))
    return [*parts, *plan.importances(), *plan.values()]


def _prepare_part(request: BoundRequest, part: Part) -> PreparedMethod:
    rows = request if part.row_count is None else request.with_row_count(part.row_count)
    return prepare_method(rows, part.options, method_of(part.options).name)


def _answer(
    request: BoundRequest, prepared: Sequence[PreparedMethod], results: Sequence[Result]
) -> Answer:
    jobs = [method.job for method in prepared]
    choice = request.choice
    return Answer(
        explanations_of(jobs, results, naming_of(request, jobs), plots=request.question.plots),
        (*_request_notes(request, jobs), *method_notes(jobs, results)),
        request.ledger.predicted,
        request.ledger.hits,
        request.ledger.misses,
        choice.engine if choice else None,
        _reason(request, jobs),
    )


def _reason(request: BoundRequest, jobs: Sequence[Job[Any]]) -> str:
    """Return why the engine was chosen, and whether all rows were read in blocks."""
    choice, rows = request.choice, request.resources.streamed
    if choice is None or rows is None or not any(job.is_streamed for job in jobs):
        return choice.reason if choice else ""
    return f"{choice.reason}; all {rows.row_count:,} rows were read in blocks"


def check_question(question: Question) -> None:
    """Refuse fields of the request that contradict each other."""
    check_target_given(question)
    check_prediction(question)
    _check_clusters(question)
    check_surrogate(question)
    is_overview = not question.methods
    if is_overview and question.row_count and question.budget_predicted_row_count is not None:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "row_count and budget_predicted_row_count both set the rows of an overview; leave "
            "one out",
            "budget_predicted_row_count",
        )


def _check_clusters(question: Question) -> None:
    """Refuse a column of clusters that nothing resamples by."""
    if not question.cluster_column:
        return
    if not any(preparation_of(options).resamples_rows(options) for options in question.methods):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "cluster_column tells which rows are resampled together, and no method of the request "
            "resamples rows; set repeat_count of interactions, partial dependence, accumulated "
            "local effects, average loss or FIRM, or leave cluster_column out",
            "cluster_column",
        )


def _check_alone(is_alone: Sequence[bool]) -> None:
    if any(is_alone) and not all(is_alone):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "sequences cannot be asked for beside other methods; send two requests",
            "methods",
        )


def _request_notes(request: BoundRequest, jobs: Sequence[Job[Any]]) -> Iterator[Note]:
    """Return the warnings about model, engine and table, if any method used them."""
    if request.is_model_used:
        yield from request.model.notes
    if request.choice:
        yield from request.choice.notes
    if request.resources.streamed and request.is_sampled:
        yield request.resources.streamed.note()
    single = [
        job.options for job in jobs if not preparation_of(job.options).resamples_rows(job.options)
    ]
    names = dict.fromkeys(method_of(options).name for options in single)
    yield from rows_not_clustered(request.question.cluster_column, [*names])
    if request.is_sampled:
        sample = request.sample
        drawing = (job for job in jobs if not job.are_rows_asked)
        counts = [(method_of(job.options).name, job.rows.drawn) for job in drawing if job.rows]
        yield from rows_drawn(counts, sample.population_count, sample.seed)
        yield from sample.notes()
        yield from one_hot_notes(
            _single_features(jobs, sample.features.names),
            sample.features.names,
            sample.features.stored,
        )


def _single_features(jobs: Sequence[Job[Any]], names: Sequence[str]) -> dict[str, Collection[str]]:
    """Return the features that each method counts singly, and could count as one."""
    declared = [(job.options, preparation_of(job.options)) for job in jobs]
    found = {
        method_of(options).name: preparation.single_features(options, names)
        for options, preparation in declared
    }
    return {method: own for method, own in found.items() if own}
