"""Preparation of attributions: the rows explained, and the background."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.memory import default_memory_bytes
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.rows.given_rows import bind_given, infinite_note
from onnxplain_server.explain.sample import RowsUsed, Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import attributions as method
from onnxplain_server.methods.attributions import Options, Result, Way
from onnxplain_server.trees.reading.refusal import Refusal

_MEMORY_BYTES = default_memory_bytes()
"""Most memory for the numbers of an answer; a process with less tells so itself."""
_NUMBER = 8


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare attributions.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    sample, path = task.sample, task.path
    names = sample.features.names
    options = method.resolve(options, names, sample.weighted.sent_row_count, path)
    effects, used = task.effects, sample.used(sample.drawn)
    if options.background_row_indices:
        background, used = _background(sample, options, path)
        effects = effects.restrict(background)
    explained, weights = _explained(task, options)
    options = _with_features_only(options, explained)
    way = method.choose_way(
        effects, options, path, lambda: _is_affine(task), lambda: _way_of_margin(task)
    )
    _check_memory(effects, explained, options, way, path)
    notes = infinite_note(explained.features) if options.explained_rows else ()
    if way is Way.CLOSED_FORM and (streamed := _streamed(task, options, explained, weights)):
        return replace(_keeping(streamed, task, explained, weights), notes=notes)
    is_estimated = way is Way.PERMUTATIONS
    job = Job(
        options,
        method.cost(effects, options, way, len(explained)),
        lambda: method.compute(effects, explained, options, way, weights, sample.seed),
        used,
        notes,
        are_rows_asked=bool(options.background_row_indices),
        repetition_count=len(explained) * options.permutation_count if is_estimated else None,
    )
    return _keeping(job, task, explained, weights)


def _keeping(job: Job[Result], task: Task, explained: Background, weights: Vector) -> Job[Result]:
    """Let the result keep replicates of its mean sizes, where the options ask for them."""
    options, sample = job.options, task.sample
    if not isinstance(options, Options) or not options.kept_repeat_count:
        return job
    units, count = sample.units(explained.source), options.kept_repeat_count

    def run() -> Result:
        return method.with_replicates(job.run(), weights, units, sample.seed, count)

    return replace(job, run=run)


def _check_memory(
    effects: Effects, explained: Background, options: Options, way: Way, path: str
) -> None:
    """Refuse numbers that do not fit into memory, before any is computed."""
    players, count = len(options.players(explained.features.names)), len(explained)
    numbers = players + math.comb(players, 2) * (options.order - 1)
    numbers += players * (way is Way.PERMUTATIONS)  # standard errors
    needed = _NUMBER * count * numbers * len(effects.output_names)
    if needed <= _MEMORY_BYTES:
        return
    remedies = "explain fewer rows, or put features into groups"
    if options.order > 1:
        remedies = "explain fewer rows, put features into groups, or leave order out"
    raise ExplainError(
        Reason.OUT_OF_MEMORY,
        f"{numbers:,} numbers of each of {count:,} rows take {needed:,} bytes, more than half of "
        f"this machine's memory ({_MEMORY_BYTES:,}); {remedies}",
        path,
    )


def _streamed(
    task: Task, options: Options, explained: Background, weights: Vector
) -> Job[Result] | None:
    """Prepare values against all rows of a table in blocks; None where that is not possible."""
    if task.all_rows is None:
        return None
    trees, rows = task.all_rows
    if not trees.can_attribute(options.players(task.sample.features.names), options.game):
        return None
    return Job(
        options,
        rows.row_count,
        lambda: method.compute_streamed(trees, task.effects, explained, options, weights),
        rows.used(),
        is_streamed=True,
    )


def _is_affine(task: Task) -> bool:
    """Return whether the outputs explained are known to be affine functions of the features."""
    margin = task.request.margin()
    if isinstance(margin, Refusal) or task.question.prediction:
        return False
    return margin.is_answer and margin.is_affine


def _way_of_margin(task: Task) -> Way | None:
    """Return how values of the model's margin are exact, where the outputs explained are others."""
    margin = task.request.margin()
    if isinstance(margin, Refusal) or margin.is_answer or task.question.prediction:
        return None
    return Way.AFFINE if margin.is_affine else Way.CLOSED_FORM


def _explained(task: Task, options: Options) -> tuple[Background, Vector]:
    """Return the rows explained, and their case weights: (n_rows,)."""
    sample = task.sample
    if options.explained_rows is not None:
        given = bind_given(options.explained_rows, task, f"{task.path}.explained_rows")
        return given, given.weights
    rows = _rows(sample, options)
    # A row has no weight in its own values, but the engines divide by the sum of weights.
    return replace(sample.unmerged(rows), weights=np.ones(len(rows))), sample.weights[rows]


def _with_features_only(options: Options, explained: Background) -> Options:
    """Leave out what was given beside the features, which the answer's options tell."""
    if options.explained_rows is None:
        return options
    features = explained.features
    columns = dict(zip(features.names, features.columns, strict=True))
    return replace(options, explained_rows=Table(columns, features.n_rows))


def _rows(sample: Sample, options: Options) -> Indices:
    """Return the rows explained: those asked for, of any weight, in their order, or drawn ones."""
    if options.row_indices:
        return sample.positions(options.row_indices)
    return sample.draw_few(sample.rows, options.explained_row_count)


def _background(sample: Sample, options: Options, path: str) -> tuple[Background, RowsUsed]:
    """Return the rows that the request names as the background."""
    rows = sample.positions(sorted(options.background_row_indices))
    if not sample.weights[rows].any():
        raise ExplainError(
            Reason.INVALID_OPTION,
            "all background rows have weight 0; name one of a weight above 0",
            f"{path}.background_row_indices",
        )
    return sample.merged(rows), sample.used(rows)
