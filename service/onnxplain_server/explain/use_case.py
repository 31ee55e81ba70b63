"""Explain a model: bind, draw, prepare, run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Indices
from onnxplain_server.effects.caller import Caller
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.explain.engine import Means, choose
from onnxplain_server.explain.identity import work_name
from onnxplain_server.explain.job import Job, Reader
from onnxplain_server.explain.jobs import prepare, prepare_without_table
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.sample import bind_features, take_sample
from onnxplain_server.methods.kinds import Options, Result, notes
from onnxplain_server.model import Model, Note
from onnxplain_server.plots.chart import Plot
from onnxplain_server.plots.draw import draw_all
from onnxplain_server.run import Host
from onnxplain_server.table import Table
from onnxplain_server.trees.crew import Crew


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The answer of one method: its options after defaults, its result, its pictures."""

    options: Options
    result: Result
    plots: tuple[Plot, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The explanations, and how they were made; see `Receipt` in the contract."""

    explanations: tuple[Explanation, ...]
    notes: tuple[Note, ...]
    row_count: int
    predicted_row_count: int
    cache_hit_count: int
    cache_miss_count: int
    engine: Engine | None
    engine_reason: str


def explain(model: Model, table: Table | None, question: Question, means: Means) -> Answer:
    """Explain a model by the methods asked for.

    Parameters
    ----------
    table : Table or None
        None for methods that need none.

    Raises
    ------
    ExplainError
        With the path of the request's field where there is one.
    """
    if table is None:
        return _explain_model(model, question, means)
    features = bind_features(model, table, question)
    outputs = _outputs(model, question.output_indices)
    choice, ledger = choose(model, features, outputs, question, means)
    sample = take_sample(table, features, question, choice.row_count)
    effects = choice.on(sample.merged(sample.drawn))
    reader = _reader(model, means, ledger)
    jobs = [
        prepare(effects, sample, question, options, reader, f"methods[{i}]")
        for i, options in enumerate(question.methods)
    ]
    ledger.reserve(sum(job.cost for job in jobs))
    results = [_run(job, means.host, work_name(effects, question, job.options)) for job in jobs]
    return Answer(
        _explanations(jobs, results, plots=question.plots),
        (*model.notes, *choice.notes, *sample.notes(), *_notes(jobs, results)),
        len(sample.drawn),
        ledger.predicted,
        ledger.hits,
        ledger.misses,
        choice.engine,
        choice.reason,
    )


def _explain_model(model: Model, question: Question, means: Means) -> Answer:
    """Explain without rows."""
    reader = _reader(model, means, Ledger(means.host))
    jobs = [
        prepare_without_table(model, question, options, reader, f"methods[{i}]")
        for i, options in enumerate(question.methods)
    ]
    results = [job.run() for job in jobs]
    explanations = _explanations(jobs, results, plots=question.plots)
    told = (*model.notes, *_notes(jobs, results))
    return Answer(explanations, told, 0, 0, 0, 0, None, "")


def _reader(model: Model, means: Means, ledger: Ledger) -> Reader:
    every = np.arange(len(model.output_names))
    caller, unplanned = (
        Caller(model, every, counted, means.pace, means.threads)
        for counted in (ledger, ledger.unplanned())
    )
    return Reader(means.grove, Crew(means.threads, ledger), caller, unplanned, means.margin)


def _explanations(
    jobs: Sequence[Job], results: Sequence[Result], *, plots: bool
) -> tuple[Explanation, ...]:
    drawn = draw_all(results) if plots else [()] * len(results)
    return tuple(
        Explanation(job.options, result, pictures)
        for job, result, pictures in zip(jobs, results, drawn, strict=True)
    )


def _notes(jobs: Sequence[Job], results: Sequence[Result]) -> Iterator[Note]:
    """What to know of the methods, and of what they found; each once."""
    told = [(*job.notes, *notes(result)) for job, result in zip(jobs, results, strict=True)]
    yield from dict.fromkeys(note for each in told for note in each)


def _outputs(model: Model, indices: Sequence[int]) -> Indices:
    n_outputs = len(model.output_names)
    wrong = [index for index in indices if not 0 <= index < n_outputs]
    if wrong or len(set(indices)) < len(indices):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"output_indices are {list(indices)}; each must be in [0, {n_outputs - 1}], none twice",
            "output_indices",
        )
    return np.array(indices or range(n_outputs), dtype=np.intp)


def _run(job: Job, host: Host, name: str) -> Result:
    with host.alone(name):
        return job.run()
