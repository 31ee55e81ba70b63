"""Use case `explain`: prepare each method, reserve its cost, run it, draw its plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.table import Table
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.class_labels import check_target_given
from onnxplain_server.explain.engine import Resources
from onnxplain_server.explain.identity import work_name
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.sample import RowsUsed, rows_drawn
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.registry import Options, Result, method_of
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.class_names import with_classes
from onnxplain_server.plots.registry import draw_all
from onnxplain_server.telemetry.spans import span


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Answer of one method.

    Attributes
    ----------
    options : Options
        After defaults.
    result : Result
    plots : tuple of Plot
    rows : RowsUsed or None
        Rows of the table that the result is computed on; None if it needs none.
    pairings : tuple of ClassPairing
        Classes of the target and the outputs that they are compared with.
    """

    options: Options
    result: Result
    plots: tuple[Plot, ...]
    rows: RowsUsed | None
    pairings: tuple[ClassPairing, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Explanations, warnings, and the counts of `Receipt` in the contract."""

    explanations: tuple[Explanation, ...]
    notes: tuple[Note, ...]
    predicted_row_count: int
    cache_hit_count: int
    cache_miss_count: int
    engine: Engine | None
    engine_reason: str

    @property
    def row_count(self) -> int:
        """Largest number of rows that a method drew."""
        return max((one.rows.drawn for one in self.explanations if one.rows), default=0)


def explain(
    model: Model | None, table: Table | None, question: Question, resources: Resources
) -> Answer:
    """Explain a model by the methods of a question.

    Parameters
    ----------
    model : Model or None
        None for methods that need none.
    table : Table or None
        Likewise.

    Raises
    ------
    ExplainError
        With the path of the request's field where there is one.
    """
    check_target_given(question)
    preparations = [preparation_of(options) for options in question.methods]
    _check_alone([preparation.is_alone for preparation in preparations])
    rows_once = all(preparation.rows_once for preparation in preparations)
    request = BoundRequest(model, table, question, resources, rows_once=rows_once)
    jobs = [
        preparation.prepare(Task(request, f"methods[{i}].{method_of(options).name}"), options)
        for i, (preparation, options) in enumerate(zip(preparations, question.methods, strict=True))
    ]
    request.ledger.reserve(sum(job.cost for job in jobs))
    request.ledger.release(
        0
    )  # reports the plan, so that it is refused before anything is predicted
    results = [_run(job, request) for job in jobs]
    choice = request.choice
    return Answer(
        _explanations(jobs, results, plots=question.plots),
        (*_request_notes(request, jobs), *_method_notes(jobs, results)),
        request.ledger.predicted,
        request.ledger.hits,
        request.ledger.misses,
        choice.engine if choice else None,
        choice.reason if choice else "",
    )


def _check_alone(is_alone: Sequence[bool]) -> None:
    if any(is_alone) and not all(is_alone):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "sequences cannot be asked for beside other methods; send two requests",
            "methods",
        )


def _run(job: Job[Any], request: BoundRequest) -> Result:
    """Run a job; equal jobs on rows of a table run once at a time (single-flight)."""
    with span("method", method=method_of(job.options).name), ExitStack() as single_flight:
        if request.is_sampled:
            name = partial(work_name, request.effects, request.question, job.options)
            single_flight.enter_context(request.host.work(name))
        result: Result = job.run()
        return result


def _explanations(
    jobs: Sequence[Job[Any]], results: Sequence[Result], *, plots: bool
) -> tuple[Explanation, ...]:
    return tuple(
        Explanation(
            job.options, result, with_classes(pictures, job.pairings), job.rows, job.pairings
        )
        for job, result, pictures in zip(jobs, results, _draw(results, plots=plots), strict=True)
    )


def _draw(results: Sequence[Result], *, plots: bool) -> Sequence[tuple[Plot, ...]]:
    if not plots:
        return [()] * len(results)
    with span("draw"):
        return draw_all(results)


def _request_notes(request: BoundRequest, jobs: Sequence[Job[Any]]) -> Iterator[Note]:
    """Return the warnings about model, engine and table, as far as methods used them."""
    if request.is_model_used:
        yield from request.model.notes
    if request.choice:
        yield from request.choice.notes
    if request.is_sampled:
        sample = request.sample
        counts = [(method_of(job.options).name, job.rows.drawn) for job in jobs if job.rows]
        yield from rows_drawn(counts, len(sample.rows), sample.seed)
        yield from sample.notes()


def _method_notes(jobs: Sequence[Job[Any]], results: Sequence[Result]) -> Iterator[Note]:
    """Return the warnings of methods, each once."""
    pairs = zip(jobs, results, strict=True)
    yield from dict.fromkeys(n for job, result in pairs for n in (*job.notes, *job.remarks(result)))
