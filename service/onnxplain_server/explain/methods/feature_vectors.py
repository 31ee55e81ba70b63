"""Preparation of feature vectors: from the model's own trees, or from a surrogate forest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model
from onnxplain_server.core.table import listed
from onnxplain_server.effects.effect_cache import cached
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.learning_library import require_learning_library
from onnxplain_server.explain.methods.forest_duration import forest_seconds
from onnxplain_server.explain.methods.labels import Labels, read_labels
from onnxplain_server.explain.registry import Change, Preparation, Rehearsing
from onnxplain_server.explain.row_counts import FOREST_ROWS
from onnxplain_server.explain.rows.prediction_checks import prediction_unread
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import feature_vectors
from onnxplain_server.methods.feature_vectors import Options, PathSource, Result, TrainingData
from onnxplain_server.methods.option_checks import singles
from onnxplain_server.trees.kernels.leaf_visits import count_leaf_visits
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.refusal import Refusal

_FEWEST_PATHS = 1_000
"""Paths of a forest where they are saved."""


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare feature vectors; the model's own trees need no table.

    Raises
    ------
    ExplainError
        If the options need a table and there is none, or need trees and the model has none.
    """
    options = _without_model(task, options)
    if task.request.given_table is None and task.request.has_model:
        return _without_table(task, options)
    names = task.sample.features.names
    forest = task.request.forest(len(names))
    options = _with_source(options, forest)
    options = feature_vectors.resolve(
        options, names, task.sample.weighted.sent_row_count, task.path
    )
    if options.grows_forest:
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
    if options.grows_forest:
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
    if task.question.prediction:
        reason = "the source MODEL reads the model's trees; SURROGATE reads the predictions"
        raise prediction_unread(reason, f"{task.path}.source")
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
    require_learning_library()
    sample, pool = task.sample, task.request.block_pool
    rows = sample.draw(sample.rows, FOREST_ROWS)
    positions = feature_vectors.positions(options, sample.features.names)
    columns = tuple(sample.features.columns[j] for j in positions)
    if options.knockoffs is not None:
        _check_knockoff_columns(
            options.features, [c[rows] for c in columns], f"{task.path}.knockoffs"
        )
    options, response = _response(task, options, rows)

    def run() -> Result:
        values = response.compute()
        _check_varied(values, response.field)
        single_rows = sample.positions(options.row_indices)
        weights = sample.weights[rows]
        training_data = TrainingData(
            tuple(column[rows] for column in columns),
            tuple(column[single_rows] for column in columns) if len(single_rows) else None,
            values,
            values.ndim == 1,
            weights / weights.max(),  # so that multiples of weights break ties of splits alike
            feature_vectors.player_numbers(options),
        )
        return feature_vectors.from_training_data(
            options, training_data, task.question.seed, pool.run, partial(cached, pool.ledger)
        )

    labels = response.labels
    return Job(
        options,
        0 if labels else len(rows),
        run,
        sample.used(rows),
        labels.notes if labels else (),
        pairings=labels.pairings if labels else (),
        repetition_count=options.growth.sentence_count,
    )


class _Response(NamedTuple):
    """Response that a forest is grown on: predictions, or labels.

    Attributes
    ----------
    compute : callable () -> (n_rows, n_outputs) numbers, or (n_rows,) names of classes
    field : str
        Field of the request that it comes from.
    labels : Labels or None
    """

    compute: Callable[[], Matrix]
    field: str
    labels: Labels | None = None


def _response(task: Task, options: Options, rows: Indices) -> tuple[Options, _Response]:
    """Return the response on rows, and the options with what it decides."""
    if options.source is not PathSource.LABELS:
        engine = task.effects.restrict(task.sample.unmerged(rows))
        return options, _Response(engine.outputs, "model")
    labels = read_labels(task, options.growth.one_hot_target)
    values = labels.values[rows].astype(str) if labels.is_class else labels.values[rows, None]
    growth = replace(options.growth, one_hot_target=labels.is_class)
    return replace(options, growth=growth), _Response(lambda: values, "target_column", labels)


def _without_model(task: Task, options: Options) -> Options:
    """Set the source LABELS for a request without a model; refuse other sources there."""
    if task.request.has_model:
        return options
    if options.source not in {None, PathSource.LABELS}:
        task.request.require_model()
    return replace(options, source=PathSource.LABELS)


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


def _unread_prediction(options: Options) -> str | None:
    if options.source is not PathSource.LABELS:
        return None
    return "the source LABELS reads the target; SURROGATE reads the predictions"


def _seconds(request: BoundRequest, job: Job[Result]) -> float | None:
    options = job.options
    if not isinstance(options, Options) or not options.grows_forest:
        return None
    return forest_seconds(request, options, job.rows.drawn if job.rows else 0)


def _changes(options: Options) -> Iterator[Change]:
    count = options.growth.sentence_count
    for divisor in (4, 10):
        if count // divisor >= _FEWEST_PATHS:
            yield Change(
                "growth.sentence_count",
                count // divisor,
                f"{count // divisor:,} paths in place of {count:,}: angles between features differ "
                f"{math.sqrt(divisor):.2g} times as much from seed to seed.",
            )


PREPARATION = Preparation(
    prepare=prepare,
    unread_prediction=_unread_prediction,
    rehearsing=lambda _options: Rehearsing.UNTIL_PREDICTED,
    seconds=_seconds,
    single_features=lambda options, _: singles(options.features, options.groups),
    changes=_changes,
    warm_up=(
        {"source": "MODEL", "rowIndices": [0], "repeatCount": 2},
        {
            "source": "SURROGATE",
            "sentenceCount": 100,
            "depth": 3,
            "knockoffs": {"componentCount": 2},
        },
    ),
    is_warm_after_one=True,
)
