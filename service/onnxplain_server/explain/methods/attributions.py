"""Preparation of attributions: the rows explained, and the background."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.memory import default_memory_bytes
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.registry import (
    Change,
    Preparation,
    Rehearsing,
    Repetitions,
    halvings,
    to_its_end,
)
from onnxplain_server.explain.rows.given_rows import bind_given, infinite_note
from onnxplain_server.explain.sample import RowsUsed, Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import attributions as method
from onnxplain_server.methods.attributions import Options, Result, Way
from onnxplain_server.trees.reading.refusal import Refusal

_MOST_TRIED = 3
"""Rows whose values are timed for a plan."""
_FEW_PERMUTATIONS = 25
"""Pairs of orders where they are saved: standard errors are some three times as large."""
_FEW_EXPLAINED = 10
"""Rows explained where they are saved."""
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
        return replace(streamed, notes=notes)
    is_estimated = way is Way.PERMUTATIONS
    return Job(
        options,
        method.cost(effects, options, way, len(explained)),
        lambda: method.compute(effects, explained, options, way, weights, sample.seed),
        used,
        notes,
        are_rows_asked=bool(options.background_row_indices),
        repetition_count=len(explained) * options.permutation_count if is_estimated else None,
    )


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


def _fewer_repetitions(options: Options, job: Job[Result]) -> Sequence[Options]:
    """Halve the orders of estimated values, then the rows explained, where these are drawn."""
    if job.repetition_count is None:
        return ()
    orders = _halved(options.permutation_count, _FEW_PERMUTATIONS)
    fewer = [replace(options, permutation_count=count) for count in orders]
    if options.are_rows_drawn:
        last, explained = [options, *fewer][-1], job.repetition_count // options.permutation_count
        rows = _halved(explained, _FEW_EXPLAINED)
        fewer += [replace(last, explained_row_count=count) for count in rows]
    return fewer


def _halved(count: int, least: int) -> Iterator[int]:
    """Yield halves of a count, the last of them `least`."""
    while count > least:
        count = max(count // 2, least)
        yield count


def _repetitions(job: Job[Result]) -> tuple[Repetitions, ...]:
    options = job.options
    if job.repetition_count is None or not isinstance(options, Options):
        return ()
    orders = options.permutation_count
    return (
        Repetitions(orders, "estimated from {} pairs of orders instead of {}"),
        Repetitions(job.repetition_count // orders, "for {} rows explained instead of {}"),
    )


def _changes(options: Options) -> Iterator[Change]:
    count = options.permutation_count
    for fewer in halvings(count, _FEW_PERMUTATIONS):
        error = f"standard errors grow by {math.sqrt(count / fewer):.2g}"
        text = f"{fewer} pairs of orders in place of {count}: {error}."
        yield Change("permutation_count", fewer, text)
    rows = options.explained_row_count
    if options.are_rows_drawn:
        for fewer in halvings(rows, 1):
            yield Change(
                "explained_row_count", fewer, f"{fewer} rows explained in place of {rows}."
            )


def _rehearsing(options: Options) -> Rehearsing:
    """Return the bound where errors, which depend on predictions, end the work."""
    return Rehearsing.BY_BOUND if options.target_standard_error else to_its_end(options)


def _seconds(request: BoundRequest, job: Job[Result]) -> float | None:
    """Time values that are estimated from trees behind a link: by the rows explained.

    Their time grows little with the background. One and three rows are tried on all of it.
    """
    choice, options = request.choice, job.options
    if choice is None or choice.predicts or not isinstance(options, Options):
        return None
    if request.effects.exact_attributions() is not None:
        return None
    background = job.rows.drawn if job.rows else 0
    one, more = (
        _seconds_of(request.trial(background, number), _only(options, rows))
        for number, rows in ((1, 1), (2, _MOST_TRIED))
    )
    further = _explained_count(request.sample, options) - 1
    return one + max(more - one, 0.0) / (_MOST_TRIED - 1) * further


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


PREPARATION = Preparation(
    prepare=prepare,
    rehearsing=_rehearsing,
    seconds=_seconds,
    fewer_repetitions=_fewer_repetitions,
    repetitions=_repetitions,
    changes=_changes,
    warm_up=(
        {"explainedRowCount": 50, "order": 2, "groups": [{"names": ["a", "b"]}]},
        {"explainedRowCount": 1, "order": 2, "backgroundRowIndices": [0]},
        {"explainedRowCount": 50, "order": 2, "perturbation": "PATH_DEPENDENT"},
        {"explainedRowCount": 1, "perturbation": "PATH_DEPENDENT"},
    ),
    is_warm_after_one=True,
    is_on_margin=True,
)
