"""Explain a model: bind, draw, prepare, run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.table import Table
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.explain.class_labels import check_labels, check_target_given
from onnxplain_server.explain.engine import Resources, choose
from onnxplain_server.explain.identity import work_name
from onnxplain_server.explain.job import Job, Reader
from onnxplain_server.explain.methods.sequences import explain as explain_sequences
from onnxplain_server.explain.methods.tabular import prepare, prepare_without_table
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.sample import (
    RowsUsed,
    Sample,
    bind_features,
    rows_drawn,
    take_sample,
)
from onnxplain_server.explain.single_flight_host import SingleFlightHost
from onnxplain_server.explain.weighing import weigh
from onnxplain_server.methods import firm, sequences
from onnxplain_server.methods.classes import ClassPairing, Outputs
from onnxplain_server.methods.registry import Options, Result, notes
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.class_names import with_classes
from onnxplain_server.plots.registry import draw_all
from onnxplain_server.telemetry.spans import span
from onnxplain_server.trees.kernels.block_pool import BlockPool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The answer of one method: options after defaults, result, pictures, rows.

    Attributes
    ----------
    rows : RowsUsed or None
        The rows that the result is computed on; None where it needs none.
    pairings : tuple of ClassPairing
        Classes of the target that the result compares with, and their outputs.
    """

    options: Options
    result: Result
    plots: tuple[Plot, ...]
    rows: RowsUsed | None
    pairings: tuple[ClassPairing, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The explanations, and how they were made; see `Receipt` in the contract."""

    explanations: tuple[Explanation, ...]
    notes: tuple[Note, ...]
    predicted_row_count: int
    cache_hit_count: int
    cache_miss_count: int
    engine: Engine | None
    engine_reason: str

    @property
    def row_count(self) -> int:
        """The most rows that one of the explanations drew."""
        return max((one.rows.drawn for one in self.explanations if one.rows), default=0)


def explain(
    model: Model | None, table: Table | None, question: Question, means: Resources
) -> Answer:
    """Explain a model by the methods asked for.

    Parameters
    ----------
    model : Model or None
        None for sequences that bring weights.
    table : Table or None
        None for methods that need none.

    Raises
    ------
    ExplainError
        With the path of the request's field where there is one.
    """
    check_target_given(question)
    if any(isinstance(options, sequences.Options) for options in question.methods):
        return _explain_sequences(model, table, question, means)
    if model is None:
        raise ExplainError(Reason.INVALID_REQUEST, "no model: give the ONNX file", "model")
    if table is None:
        return _explain_model(model, question, means)
    host = SingleFlightHost(means.host)
    means = replace(means, host=host)
    weighed = weigh(table, question)
    features = bind_features(model, weighed, question)
    outputs = _outputs(model, question.output_indices)
    with span("choose"):
        choice, ledger = choose(model, features, outputs, question, means)
    # Of rows that are predicted once each, all are taken, and none are compared with others.
    once = all(isinstance(options, firm.Options) for options in question.methods)
    sample = take_sample(weighed, features, question, None if once else choice.row_count)
    take = sample.each if once else sample.merged
    effects = choice.on(take(sample.drawn))
    compared = _compared(model, question)
    check_labels(table, question, compared)
    reader = _reader(model, means, ledger, compared)
    jobs = [
        prepare(effects, sample, question, options, reader, f"methods[{i}]")
        for i, options in enumerate(question.methods)
    ]
    ledger.reserve(sum(job.cost for job in jobs))
    ledger.release(0)  # tells the plan, so that it can be refused before anything is predicted
    results = [_run(job, host, partial(work_name, effects, question, job.options)) for job in jobs]
    return Answer(
        _explanations(jobs, results, plots=question.plots),
        (
            *model.notes,
            *choice.notes,
            *_rows_drawn(jobs, sample),
            *sample.notes(),
            *_notes(jobs, results),
        ),
        ledger.predicted,
        ledger.hits,
        ledger.misses,
        choice.engine,
        choice.reason,
    )


def _explain_model(model: Model, question: Question, means: Resources) -> Answer:
    """Explain without rows."""
    reader = _reader(model, means, Ledger(means.host), _compared(model, question))
    jobs = [
        prepare_without_table(model, question, options, reader, f"methods[{i}]")
        for i, options in enumerate(question.methods)
    ]
    results = [_timed(job) for job in jobs]
    explanations = _explanations(jobs, results, plots=question.plots)
    told = (*model.notes, *_notes(jobs, results))
    return Answer(explanations, told, 0, 0, 0, None, "")


def _explain_sequences(
    model: Model | None, table: Table | None, question: Question, means: Resources
) -> Answer:
    """Explain sequences, which are no rows of features."""
    asked = [options for options in question.methods if isinstance(options, sequences.Options)]
    if len(asked) < len(question.methods):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "sequences cannot be asked for beside other methods; send two requests",
            "methods",
        )
    outputs = _outputs(model, question.output_indices) if model else np.zeros(0, dtype=np.intp)
    found = []
    for i, options in enumerate(asked):
        path = f"methods[{i}].firm.sequences"
        with span("method", method=_method(options)):
            told = explain_sequences(model, table, question, options, outputs, means, path)
        found.append(told)
    results = [told.result for told in found]
    drawn = _drawn(results, plots=question.plots)
    choices = [told.choice for told in found if told.choice is not None]
    noted = dict.fromkeys(note for result in results for note in notes(result))
    return Answer(
        tuple(
            Explanation(told.options, told.result, plots, told.rows)
            for told, plots in zip(found, drawn, strict=True)
        ),
        (*(model.notes if model and choices else ()), *noted),
        sum(told.ledger.predicted for told in found),
        sum(told.ledger.hits for told in found),
        sum(told.ledger.misses for told in found),
        choices[0].engine if choices else None,
        choices[0].reason if choices else "",
    )


def _compared(model: Model, question: Question) -> Outputs:
    """Tell of the outputs what a target is compared with."""
    names = model.output_names
    chosen = question.output_indices or tuple(range(len(names)))
    return Outputs(names, chosen, model.has_class_scores, question.class_labels)


def _reader(model: Model, means: Resources, ledger: Ledger, outputs: Outputs) -> Reader:
    every = np.arange(len(model.output_names))
    predictor, unplanned = (
        Predictor(model, every, counted, means.batch_size, means.threads)
        for counted in (ledger, ledger.unplanned())
    )
    pool = BlockPool(means.threads, ledger)
    return Reader(means.forest, pool, predictor, unplanned, means.margin, outputs)


def _explanations(
    jobs: Sequence[Job], results: Sequence[Result], *, plots: bool
) -> tuple[Explanation, ...]:
    drawn = _drawn(results, plots=plots)
    return tuple(
        Explanation(
            job.options, result, with_classes(pictures, job.pairings), job.rows, job.pairings
        )
        for job, result, pictures in zip(jobs, results, drawn, strict=True)
    )


def _drawn(results: Sequence[Result], *, plots: bool) -> Sequence[tuple[Plot, ...]]:
    if not plots:
        return [()] * len(results)
    with span("draw"):
        return draw_all(results)


def _rows_drawn(jobs: Sequence[Job], sample: Sample) -> tuple[Note, ...]:
    counts = [(_method(job.options), job.rows.drawn) for job in jobs if job.rows]
    return rows_drawn(counts, len(sample.rows), sample.seed)


def _notes(jobs: Sequence[Job], results: Sequence[Result]) -> Iterator[Note]:
    """What to know of the methods, and of what they found; each once."""
    pairs = zip(jobs, results, strict=True)
    yield from dict.fromkeys(n for job, result in pairs for n in (*job.notes, *job.remarks(result)))


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


def _run(job: Job, host: SingleFlightHost, name: Callable[[], str]) -> Result:
    with host.work(name):
        return _timed(job)


def _timed(job: Job) -> Result:
    with span("method", method=_method(job.options)):
        return job.run()


def _method(options: Options) -> str:
    """Name a method as the contract does: its file or folder in `methods` is called so."""
    return type(options).__module__.split(".")[2]
