"""Preparation of swarm: what is moved, what scores are compared with, and which search runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.explain.methods.swarm_search import Exact, exactly, required, searched
from onnxplain_server.explain.row_counts import SEARCHED_ROWS
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import swarm, target
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm import (
    GroundTruth,
    MovedRowPredictor,
    Options,
    Problem,
    Result,
    Search,
)
from onnxplain_server.methods.target import Comparison
from onnxplain_server.trees.reading.refusal import Refusal


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare the perturbation of features.

    Raises
    ------
    ExplainError
        If the options cannot be met.
    """
    sample, path = task.sample, task.path
    features = sample.features
    movable = tuple(n for j, n in enumerate(features.names) if _is_movable(features, j))
    _check_movable(options, features, movable, f"{path}.features")
    options = swarm.resolve(options, movable, sample.weighed.sent_row_count, path)
    truth, pairings = _truth(task, options)
    search = exactly(options, task.request, features)
    options, exact, notes = _searching(options, search, f"{path}.search")
    rows = _rows(sample, options)
    problem = _problem(task, options, truth, rows, exact)
    options = replace(options, classes=tuple(problem.class_names[k] for k in problem.moved_classes))
    notes += [*_absent(problem), *_left_out(features, movable, options)]

    def run() -> Result:
        return swarm.compute(problem, options, task.question.seed, notes)

    return Job(options, swarm.cost(options, problem), run, sample.used(rows), pairings=pairings)


def _searching(
    options: Options, found: Exact | Refusal, path: str
) -> tuple[Options, Exact | None, list[Note]]:
    """Choose the search, and say why where the default is not exact."""
    if options.search is Search.EXACT:
        return options, required(found, path), []
    if not isinstance(found, Refusal):
        return replace(options, search=options.search or Search.EXACT), found, []
    why = [] if options.search else [searched(found.reason)]
    return replace(options, search=options.search or Search.PUBLISHED), None, why


def _is_movable(features: Features, feature: int) -> bool:
    return features.dtypes[feature].kind in "fiu"


def _check_movable(
    options: Options, features: Features, movable: tuple[str, ...], path: str
) -> None:
    fixed = tuple(n for n in options.features if n in features.names and n not in movable)
    if fixed:
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"{listed(fixed)} holds no numbers that could be moved; leave it out of features",
            path,
        )


def _truth(task: Task, options: Options) -> tuple[GroundTruth, tuple[ClassPairing, ...]]:
    """Read the true values of all rows of the table."""
    outputs, table, path = task.outputs.all_explained, task.sample.table, task.path
    count = len(outputs.names)
    if options.loss is None and count < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the model has one output, so it predicts no classes that could be scored; name a loss",
            f"{path}.loss",
        )
    of_classes = options.loss is None or (options.loss is Loss.LOGLOSS and count > 1)
    comparison = Comparison(
        options.loss or Loss.SQUARED_ERROR,
        options.target_columns,
        True if of_classes else None,
        sum_outputs=True,
    )
    comparison = target.resolve(comparison, table, task.question.target_column, outputs, path)
    actual = target.read(comparison, table, outputs, path)
    classes: Indices | None = None
    if comparison.one_hot_target and count > 1:
        classes = actual.values.argmax(axis=1)
        _check_classes(classes, path)
    truth = GroundTruth(
        classes,
        count if classes is not None else 0,
        actual.values,
        None if options.loss is None else comparison,
        options.score,
        task.sample.weights,
    )
    return truth, actual.pairings


def _check_classes(classes: Indices, path: str) -> None:
    if len(np.unique(classes)) < 2:
        raise ExplainError(
            Reason.INVALID_TABLE,
            "all rows are of one class, so there is nothing to confuse it with; the target needs "
            "at least 2 classes",
            f"{path}.target_columns",
        )


def _rows(sample: Sample, options: Options) -> Indices:
    """Rows that are used: those drawn, and those that are explained by themselves."""
    most = len(sample.rows) if options.search is Search.EXACT else SEARCHED_ROWS
    drawn = sample.draw(sample.rows, most)
    return np.union1d(drawn, sample.places(options.row_indices))


def _problem(
    task: Task, options: Options, truth: GroundTruth, rows: Indices, exact: Exact | None
) -> Problem:
    background = task.sample.each(rows)
    outputs = task.request.predictor.output_names
    truth = truth.take(rows)
    chosen = _chosen(truth, options, outputs, task.question.output_indices, task.path)
    single_rows = np.searchsorted(rows, task.sample.places(options.row_indices))
    names = outputs if truth.classes is not None else ()
    moved_rows = MovedRowPredictor(task.request.predictor, task.request.unplanned, background)
    steps = exact(moved_rows, background) if exact else None
    return Problem(background, moved_rows, truth, names, chosen, single_rows, steps)


def _chosen(
    truth: GroundTruth,
    options: Options,
    outputs: tuple[str, ...],
    output_indices: tuple[int, ...],
    path: str,
) -> tuple[int, ...]:
    """Classes to move: those asked for, or those that occur."""
    if truth.classes is None:
        if options.classes:
            raise ExplainError(
                Reason.INVALID_OPTION, "there are no classes here; leave classes out",
                f"{path}.classes",
            )  # fmt: skip
        return ()
    present = set(truth.classes[truth.weights > 0].tolist())
    if not options.classes:
        return _those_asked_for(present, outputs, output_indices)
    wrong = tuple(n for n in options.classes if n not in outputs or outputs.index(n) not in present)
    if wrong or len(set(options.classes)) < len(options.classes):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"classes are {listed(options.classes)}; each must be one of those in the rows used, "
            f"{listed(_named(present, outputs))}, and none twice",
            f"{path}.classes",
        )
    return tuple(outputs.index(name) for name in options.classes)


def _those_asked_for(
    present: set[int], outputs: tuple[str, ...], output_indices: tuple[int, ...]
) -> tuple[int, ...]:
    """Classes of the rows used, of the outputs asked for; at least one."""
    found = tuple(k for k in output_indices or range(len(outputs)) if k in present)
    if not found:
        asked = tuple(outputs[k] for k in output_indices)
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"no row used is of class {listed(asked)}, which output_indices asks for; the rows "
            f"have {listed(_named(present, outputs))}",
            "output_indices",
        )
    return found


def _named(present: set[int], outputs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for k, name in enumerate(outputs) if k in present)


def _absent(problem: Problem) -> list[Note]:
    if problem.truth.classes is None:
        return []
    present = set(problem.truth.classes.tolist())
    absent = tuple(n for k, n in enumerate(problem.class_names) if k not in present)
    message = f"No row used is of these classes, so nothing is said of them: {listed(absent)}."
    return [Note("CLASS_ABSENT", message)] if absent else []


def _left_out(features: Features, movable: tuple[str, ...], options: Options) -> list[Note]:
    fixed = tuple(name for name in features.names if name not in movable)
    if not fixed or options.features != movable:
        return []
    message = f"These hold no numbers that could be moved, and are left out: {listed(fixed)}."
    return [Note("FEATURES_LEFT_OUT", message)]
