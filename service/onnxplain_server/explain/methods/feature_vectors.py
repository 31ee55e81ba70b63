"""Preparation of feature vectors: from the model's own trees, or from a surrogate forest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix
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
    options = feature_vectors.resolve(
        options, names, task.sample.weighted.sent_row_count, task.path
    )
    if options.source is not PathSource.MODEL:
        return _from_grown_forest(task, options)
    forest = _require_forest(forest, task.path)
    return _from_model(
        task, options, names, forest, lambda: _leaf_visits(forest, task.sample, options)
    )


def _without_table(task: Task, options: Options) -> Job[Result]:
    """Read the model's own trees; the request or the model names their features."""
    model, names = task.request.model, task.question.feature_columns
    forest = task.request.forest(len(names) or None)
    options = _with_source(options, forest)
    if options.source is not PathSource.MODEL:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"no table: only the source MODEL needs none; {_model_source_hint(forest)}",
            "table",
        )
    forest = _require_forest(forest, task.path)
    names = _feature_names(model, names, len(forest.ensemble.axes))
    options = feature_vectors.resolve(options, names, 0, task.path)
    return _from_model(task, options, names, forest, lambda: None)


def _from_model(
    task: Task,
    options: Options,
    names: tuple[str, ...],
    forest: Forest,
    leaf_visits: Callable[[], Array | None],
) -> Job[Result]:
    run, seed = task.request.block_pool.run, task.question.seed
    return Job(
        options,
        0,
        lambda: feature_vectors.from_forest(
            options, names, forest, leaf_visits(), seed=seed, run=run
        ),
    )


def _from_grown_forest(task: Task, options: Options) -> Job[Result]:
    """Grow a forest on predictions (SURROGATE), or on the target (LABELS)."""
    sample, pool = task.sample, task.request.block_pool
    rows = sample.draw(sample.rows, FOREST_ROWS)
    positions = feature_vectors.positions(options, sample.features.names)
    columns = tuple(sample.features.columns[j] for j in positions)
    if options.knockoffs is not None:
        _check_knockoff_columns(
            options.features, [c[rows] for c in columns], f"{task.path}.knockoffs"
        )
    uses_labels = options.source is PathSource.LABELS
    labels: Matrix | None = None
    pairings: tuple[ClassPairing, ...] = ()
    if uses_labels:
        target_values, pairings = _read_target(task, options)
        labels = target_values[rows]
        growth = replace(options.growth, one_hot_target=labels.ndim == 1)
        options = replace(options, growth=growth)
    effects = task.effects.restrict(sample.unmerged(rows))

    def run() -> Result:
        response = effects.outputs() if labels is None else labels
        _check_varied(response, "target_column" if uses_labels else "model")
        single_rows = sample.positions(options.row_indices)
        weights = sample.weights[rows]
        training_data = TrainingData(
            tuple(column[rows] for column in columns),
            tuple(column[single_rows] for column in columns) if len(single_rows) else None,
            response,
            response.ndim == 1,
            weights / weights.max(),  # so that multiples of weights break ties of splits alike
        )
        return feature_vectors.from_training_data(
            options, training_data, task.question.seed, pool.run, partial(cached, pool.ledger)
        )

    cost = 0 if uses_labels else len(rows)
    return Job(options, cost, run, sample.used(rows), pairings=pairings)


def _with_source(options: Options, forest: Forest | Refusal) -> Options:
    """Set the default source: MODEL if the model is a random forest, or else SURROGATE."""
    if options.source is not None:
        return options
    is_random_forest = isinstance(forest, Forest) and not forest.is_boosted
    return replace(options, source=PathSource.MODEL if is_random_forest else PathSource.SURROGATE)


def _require_forest(forest: Forest | Refusal, path: str) -> Forest:
    if isinstance(forest, Refusal):
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL,
            f"the source MODEL reads the model's own trees, but {forest.reason}; set source to "
            "SURROGATE, which works for any model",
            f"{path}.source",
        )
    return forest


def _model_source_hint(forest: Forest | Refusal) -> str:
    if isinstance(forest, Refusal):
        return f"for this model it is not possible, because {forest.reason}"
    return "ask for it, or send a table"


def _feature_names(model: Model, requested: Sequence[str], feature_count: int) -> tuple[str, ...]:
    """Name the features by the request, or else by the model, or else f0, f1, ..."""
    if len(requested) not in {0, feature_count}:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"feature_columns names {len(requested)} columns, but the model takes {feature_count}",
            "feature_columns",
        )
    if requested:
        return tuple(requested)
    if len(model.inputs) == feature_count:
        return tuple(model_input.name for model_input in model.inputs)
    if len(model.inputs[0].columns) == feature_count:
        return model.inputs[0].columns
    return tuple(f"f{j}" for j in range(feature_count))


def _leaf_visits(forest: Forest, sample: Sample, options: Options) -> Array | None:
    if not options.row_indices:
        return None
    background = sample.unmerged(sample.positions(options.row_indices))
    return count_leaf_visits(forest.ensemble, background.columns)


def _read_target(task: Task, options: Options) -> tuple[Matrix, tuple[ClassPairing, ...]]:
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


def _check_varied(response: Array, path: str) -> None:
    if (response == response[:1]).all():
        cause = "the model predicts the same" if path == "model" else "the target is the same"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"{cause} in each of the {len(response):,} rows used, so there is nothing to tell "
            "apart",
            path,
        )


def _check_knockoff_columns(names: Sequence[str], columns: Sequence[Array], path: str) -> None:
    """Refuse columns for which no knockoffs can be drawn."""
    faulty = tuple(
        name
        for name, column in zip(names, columns, strict=True)
        if column.dtype == object or not np.isfinite(column).all() or np.ptp(column) == 0
    )
    if faulty:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "knockoffs need columns of finite numbers, none missing, and not all the same; leave "
            f"{listed(faulty)} out of features",
            path,
        )
