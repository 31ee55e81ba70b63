"""Preparation of swarm: features to move, ground truth, classes, and the search that applies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.explain.loss_choice import check_parameters, with_loss
from onnxplain_server.explain.methods import swarm_effort
from onnxplain_server.explain.methods.swarm_search import (
    StepReaderFactory,
    exact_search,
    not_exact_note,
    require_exact,
)
from onnxplain_server.explain.methods.swarm_targets import check_classes, check_loss
from onnxplain_server.explain.output_choice import requested_outputs
from onnxplain_server.explain.registry import Preparation, Rehearsing
from onnxplain_server.explain.row_counts import SEARCHED_ROWS
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.single_flight_key import single_flight_key
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import swarm, target
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.loss_expression import LossExpression
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm import (
    GroundTruth,
    MovedRowPredictor,
    Options,
    Problem,
    Result,
    Search,
)
from onnxplain_server.methods.target_outputs import in_output_order
from onnxplain_server.trees.reading.refusal import Refusal


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare the perturbation of features.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    sample, path = task.sample, task.path
    features = sample.features
    movable = tuple(n for j, n in enumerate(features.names) if _is_movable(features, j))
    _check_movable(options, features, movable, path)
    options = _with_default_loss(task, options)
    options = swarm.resolve(options, movable, sample.weighted.sent_row_count, path)
    truth, pairings = _ground_truth(task, options)
    exact = exact_search(options, task.request, features)
    options, factory, notes = _with_search(options, exact, f"{path}.search")
    rows = _draw(sample, options)
    problem = _problem(task, options, truth, rows, factory)
    options = replace(options, classes=tuple(problem.class_names[k] for k in problem.moved_classes))
    notes += [*_absent_class_notes(problem), *_fixed_feature_notes(features, movable, options)]

    def run() -> Result:
        return swarm.compute(problem, options, task.question.seed, notes)

    cost, used = swarm.cost(options, problem), sample.used(rows)
    return Job(
        options,
        cost,
        run,
        used,
        pairings=pairings,
        is_always_predicted=True,
        check_cost=swarm.confirmation_cost(options, problem),
    )


def _with_search(
    options: Options, exact: StepReaderFactory | Refusal, path: str
) -> tuple[Options, StepReaderFactory | None, list[Note]]:
    """Set the default search, and warn if it is not exact."""
    if options.search is Search.EXACT:
        return options, require_exact(exact, path), []
    if not isinstance(exact, Refusal):
        return replace(options, search=options.search or Search.EXACT), exact, []
    notes = [] if options.search else [not_exact_note(exact.reason)]
    return replace(options, search=options.search or Search.PUBLISHED), None, notes


def _is_movable(features: Features, feature: int) -> bool:
    return features.dtypes[feature].kind in "fiu"


def _check_movable(
    options: Options, features: Features, movable: tuple[str, ...], path: str
) -> None:
    named = {"features": options.features, "groups": sum(options.groups, ())}
    for field, names in named.items():
        fixed = tuple(n for n in names if n in features.names and n not in movable)
        if fixed:
            raise ExplainError(
                Reason.WRONG_TYPE,
                f"{listed(fixed)} is not numeric, so it cannot be moved; leave it out of {field}",
                f"{path}.{field}",
            )


def _ground_truth(task: Task, options: Options) -> tuple[GroundTruth, tuple[ClassPairing, ...]]:
    """Read the target of all rows of the table."""
    outputs, table, path = task.outputs.all_explained, task.sample.table, task.path
    count = len(outputs.names)
    check_loss(options, task)
    if options.measure is None and count < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the model has one output, so it predicts no classes that could be scored; leave score "
            "out, or name a loss",
            f"{path}.loss",
        )
    has_classes = options.measure is None or (options.loss is Loss.LOGLOSS and count > 1)
    comparison = Comparison(
        options.loss or Loss.SQUARED_ERROR,
        options.target_columns,
        True if has_classes else None,
        sum_outputs=True,
        loss_expression=options.loss_expression,
        parameters=options.parameters,
    )
    check_parameters(comparison, path)
    comparison = target.resolve(comparison, table, task.question.targets, outputs, path)
    comparison = in_output_order(comparison, table, outputs, path)
    actual = target.read(comparison, table, outputs, path)
    classes: Indices | None = None
    if comparison.one_hot_target and count > 1:
        classes = actual.values.argmax(axis=1)
        check_classes(classes, path)
    truth = GroundTruth(
        classes,
        count if classes is not None else 0,
        actual.values,
        None if options.measure is None else comparison,
        options.score,
        task.sample.weights,
        actual.beside if isinstance(actual.beside, LossExpression) else None,
    )
    return truth, actual.pairings


def _with_default_loss(task: Task, options: Options) -> Options:
    """Choose the loss of a model with one output, as other methods do: it predicts no classes."""
    outputs, question = task.outputs.all_explained, task.question
    if options.measure is not None or options.score is not None or len(outputs.names) > 1:
        return options
    comparison = Comparison(
        None, options.target_columns, sum_outputs=True, parameters=options.parameters
    )
    table = task.sample.table
    comparison = target.resolve(comparison, table, question.targets, outputs, task.path)
    comparison = with_loss(comparison, task)
    if comparison.is_score:
        return options
    return replace(options, loss=comparison.loss, parameters=comparison.parameters)


def _draw(sample: Sample, options: Options) -> Indices:
    """Draw rows, and add those that are explained one by one."""
    default = len(sample.rows) if options.search is Search.EXACT else SEARCHED_ROWS
    drawn = sample.draw(sample.rows, default)
    return np.union1d(drawn, sample.positions(options.row_indices))


def _problem(
    task: Task,
    options: Options,
    truth: GroundTruth,
    rows: Indices,
    factory: StepReaderFactory | None,
) -> Problem:
    background = task.sample.unmerged(rows)
    outputs = task.request.predictor.output_names
    truth = truth.take(rows)
    requested = requested_outputs(task.question, outputs)
    moved = _moved_classes(truth, options, outputs, requested, task.path)
    single_rows = np.searchsorted(rows, task.sample.positions(options.row_indices))
    names = outputs if truth.classes is not None else ()
    scope = single_flight_key(background, outputs, task.question, options)
    request = task.request
    moved_rows = MovedRowPredictor(request.predictor, request.unplanned, background, scope)
    steps = factory(moved_rows, background) if factory else None
    return Problem(background, moved_rows, truth, names, moved, single_rows, steps)


def _moved_classes(
    truth: GroundTruth,
    options: Options,
    outputs: tuple[str, ...],
    requested: tuple[int, ...],
    path: str,
) -> tuple[int, ...]:
    """Return the classes whose rows are moved: the requested ones, or all that occur."""
    if truth.classes is None:
        if options.classes:
            raise ExplainError(
                Reason.INVALID_OPTION, "there are no classes here; leave classes out",
                f"{path}.classes",
            )  # fmt: skip
        return ()
    present = set(truth.classes[truth.weights > 0].tolist())
    if not options.classes:
        return _explained_classes(present, outputs, requested)
    unknown = set(options.classes) - set(_class_names(present, outputs))
    if unknown or len(set(options.classes)) < len(options.classes):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"classes are {listed(options.classes)}; each must be one of those in the rows used, "
            f"{listed(_class_names(present, outputs))}, and none twice",
            f"{path}.classes",
        )
    return tuple(outputs.index(name) for name in options.classes)


def _explained_classes(
    present: set[int], outputs: tuple[str, ...], requested: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the classes among the requested outputs that occur in the rows used; at least one."""
    classes = tuple(k for k in requested or range(len(outputs)) if k in present)
    if not classes:
        names = tuple(outputs[k] for k in requested)
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"no row used is of class {listed(names)}, which is requested; the rows have "
            f"{listed(_class_names(present, outputs))}",
            "output_indices",
        )
    return classes


def _class_names(present: set[int], outputs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for k, name in enumerate(outputs) if k in present)


def _absent_class_notes(problem: Problem) -> list[Note]:
    if problem.truth.classes is None:
        return []
    present = set(problem.truth.classes.tolist())
    absent = tuple(n for k, n in enumerate(problem.class_names) if k not in present)
    message = f"No row used is of these classes, so they have no results: {listed(absent)}."
    return [Note(MethodWarning.CLASS_ABSENT, message)] if absent else []


def _fixed_feature_notes(
    features: Features, movable: tuple[str, ...], options: Options
) -> list[Note]:
    fixed = tuple(name for name in features.names if name not in movable)
    if not fixed or options.features != movable:
        return []
    message = f"These features are not numeric, and are left out: {listed(fixed)}."
    return [Note(MethodWarning.FEATURES_LEFT_OUT, message)]


PREPARATION = Preparation(
    prepare=prepare,
    is_predicted_on_trees=True,
    unread_prediction=lambda _: "swarm reads the classes and scores of the model itself",
    rehearsing=lambda _: Rehearsing.BY_SEARCH,
    fewer_repetitions=swarm_effort.fewer_repetitions,
    repetitions=swarm_effort.repetitions,
    changes=swarm_effort.changes,
    warm_up=swarm_effort.WARM_UP,
    is_warm_after_one=True,
)
