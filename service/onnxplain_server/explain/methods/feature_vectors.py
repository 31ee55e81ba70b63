"""Preparation of feature vectors: from the model's trees, or from a forest that is grown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model
from onnxplain_server.core.table import listed
from onnxplain_server.effects.effect_cache import cached
from onnxplain_server.explain.row_counts import FOREST_ROWS
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import feature_vectors, target
from onnxplain_server.methods.classes import ClassPairing
from onnxplain_server.methods.feature_vectors import Options, PathSource, Result, TrainingData
from onnxplain_server.trees.kernels.leaf_visits import count_leaf_visits
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.refusal import Refusal


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare feature vectors; the model's own trees need no table.

    Raises
    ------
    ExplainError
        If the options need a table and there is none, or need trees and the model has none.
    """
    if task.request.given_table is None:
        return _without_table(task, options)
    names = task.sample.features.names
    forest = task.request.forest(len(names))
    options = _with_source(options, forest)
    options = feature_vectors.resolve(options, names, task.sample.weighed.sent_row_count, task.path)
    if options.source is not PathSource.MODEL:
        return _grown(task, options)
    forest = _trees(forest, task.path)
    return _read(task, options, names, forest, lambda: _visits(forest, task.sample, options))


def _without_table(task: Task, options: Options) -> Job[Result]:
    """Read the model's own trees, whose features the request or the model names."""
    model, names = task.request.model, task.question.feature_columns
    forest = task.request.forest(len(names) or None)
    options = _with_source(options, forest)
    if options.source is not PathSource.MODEL:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"no table: only the source MODEL needs none; {_why(forest)}",
            "table",
        )
    forest = _trees(forest, task.path)
    names = _names(model, names, len(forest.ensemble.axes))
    options = feature_vectors.resolve(options, names, 0, task.path)
    return _read(task, options, names, forest, lambda: None)


def _read(
    task: Task,
    options: Options,
    names: tuple[str, ...],
    forest: Forest,
    visits_of_rows: Callable[[], Array | None],
) -> Job[Result]:
    run, seed = task.request.block_pool.run, task.question.seed
    return Job(
        options,
        0,
        lambda: feature_vectors.from_forest(
            options, names, forest, visits_of_rows(), seed=seed, run=run
        ),
    )


def _grown(task: Task, options: Options) -> Job[Result]:
    """Grow a forest on predictions, or on the target."""
    sample, pool = task.sample, task.request.block_pool
    rows = sample.draw(sample.rows, FOREST_ROWS)
    positions = feature_vectors.positions(options, sample.features.names)
    columns = tuple(sample.features.columns[j] for j in positions)
    if options.knockoffs is not None:
        _check_numbers(options.features, [c[rows] for c in columns], f"{task.path}.knockoffs")
    of_labels = options.source is PathSource.LABELS
    truth: Matrix | None = None
    pairings: tuple[ClassPairing, ...] = ()
    if of_labels:
        target_values, pairings = _truth(task, options)
        truth = target_values[rows]
        growth = replace(options.growth, one_hot_target=truth.ndim == 1)
        options = replace(options, growth=growth)
    background = task.effects.restrict(sample.each(rows))

    def run() -> Result:
        learned = background.outputs() if truth is None else truth
        _check_varied(learned, "target_column" if of_labels else "model")
        single_rows = sample.places(options.row_indices)
        training_data = TrainingData(
            tuple(column[rows] for column in columns),
            tuple(column[single_rows] for column in columns) if len(single_rows) else None,
            learned,
            learned.ndim == 1,
            _of_largest(sample.weights[rows]),
        )
        return feature_vectors.from_training_data(
            options, training_data, task.question.seed, pool.run, partial(cached, pool.ledger)
        )

    cost = 0 if of_labels else len(rows)
    return Job(options, cost, run, sample.used(rows), pairings=pairings)


def _of_largest(weights: Vector) -> Vector:
    """Divide by the largest, so that multiples of weights break ties between splits alike."""
    shares: Vector = weights / weights.max()
    return shares


def _with_source(options: Options, found: Forest | Refusal) -> Options:
    """Choose the source: the model's own trees only where they are a forest."""
    if options.source is not None:
        return options
    is_forest = isinstance(found, Forest) and not found.is_boosted
    return replace(options, source=PathSource.MODEL if is_forest else PathSource.SURROGATE)


def _trees(found: Forest | Refusal, path: str) -> Forest:
    if isinstance(found, Refusal):
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            f"the source MODEL reads the model's own trees, but {found.reason}; set source to "
            "SURROGATE, which works for any model",
            f"{path}.source",
        )
    return found


def _why(found: Forest | Refusal) -> str:
    if isinstance(found, Refusal):
        return f"for this model it is not possible, because {found.reason}"
    return "ask for it, or send a table"


def _names(model: Model, given: Sequence[str], feature_count: int) -> tuple[str, ...]:
    """Name the features: as asked for, as the model does, or f0, f1, ..."""
    if len(given) not in {0, feature_count}:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"feature_columns names {len(given)} columns, but the model takes {feature_count}",
            "feature_columns",
        )
    if given:
        return tuple(given)
    if len(model.inputs) == feature_count:
        return tuple(taken.name for taken in model.inputs)
    if len(model.inputs[0].columns) == feature_count:
        return model.inputs[0].columns
    return tuple(f"f{j}" for j in range(feature_count))


def _visits(forest: Forest, sample: Sample, options: Options) -> Array | None:
    if not options.row_indices:
        return None
    taken = sample.each(sample.places(options.row_indices))
    return count_leaf_visits(forest.ensemble, taken.columns)


def _truth(task: Task, options: Options) -> tuple[Matrix, tuple[ClassPairing, ...]]:
    """Read the target: (n_rows, 1) numbers, or (n_rows,) names of classes."""
    values, pairings, is_class = target.read_labels(
        task.sample.table,
        task.question.target_column,
        task.outputs,
        options.growth.one_hot_target,
        task.path,
    )
    if not is_class:
        return values[:, None], ()
    classes: Matrix = values.astype(str)
    return classes, pairings


def _check_varied(learned: Array, path: str) -> None:
    if (learned == learned[:1]).all():
        told = "the model predicts the same" if path == "model" else "the target is the same"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"{told} in each of the {len(learned):,} rows used, so there is nothing to tell apart",
            path,
        )


def _check_numbers(names: Sequence[str], columns: Sequence[Array], path: str) -> None:
    """Refuse columns of which no knockoffs can be drawn."""
    wrong: Indices = np.array(
        [c.dtype == object or not np.isfinite(c).all() or np.ptp(c) == 0 for c in columns]
    )
    if wrong.any():
        faulty = tuple(name for name, bad in zip(names, wrong, strict=True) if bad)
        raise ExplainError(
            Reason.INVALID_OPTION,
            "knockoffs need columns of finite numbers, none missing, and not all the same; leave "
            f"{listed(faulty)} out of features",
            path,
        )
