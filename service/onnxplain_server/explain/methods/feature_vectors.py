"""Feature vectors made ready to run: with a table, or without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model
from onnxplain_server.core.table import listed
from onnxplain_server.effects.effect_cache import cached
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.job import Job, Reader
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.sample import Sample
from onnxplain_server.methods import feature_vectors, target
from onnxplain_server.methods.classes import ClassPairing, Outputs
from onnxplain_server.methods.feature_vectors import Options, PathSource, Result, TrainingData
from onnxplain_server.trees.kernels.leaf_visits import count_leaf_visits
from onnxplain_server.trees.reading.forest import Forest
from onnxplain_server.trees.reading.refusal import Refusal

_GROWN_ON = 10_000
"""Rows on which a forest is grown."""


def without_table(
    model: Model, question: Question, options: Options, reader: Reader, path: str
) -> Job:
    """Make the model's own trees ready, whose features the request or the model names.

    Raises
    ------
    ExplainError
        INVALID_REQUEST where the options need a table.
    """
    names = question.feature_columns
    found = reader.trees(len(names) or None)
    options = _with_source(options, found)
    if options.source is not PathSource.MODEL:
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"no table: only the source MODEL needs none; {_why(found)}",
            "table",
        )
    forest = _trees(found, path)
    names = _names(model, names, len(forest.ensemble.axes))
    options = feature_vectors.resolve(options, names, 0, path)
    return Job(
        options,
        0,
        lambda: feature_vectors.from_forest(
            options, names, forest, None, seed=question.seed, run=reader.pool.run
        ),
    )


def with_table(  # noqa: PLR0917 - as `prepare`
    effects: Effects,
    sample: Sample,
    question: Question,
    options: Options,
    reader: Reader,
    path: str,
) -> Job:
    """Make any source ready."""
    names = sample.features.names
    found = reader.trees(len(names))
    options = _with_source(options, found)
    options = feature_vectors.resolve(options, names, sample.weighed.sent_row_count, path)
    if options.source is PathSource.MODEL:
        forest = _trees(found, path)
        return Job(
            options,
            0,
            lambda: feature_vectors.from_forest(
                options,
                names,
                forest,
                _visits(forest, sample, options),
                seed=question.seed,
                run=reader.pool.run,
            ),
        )
    return _grown(effects, sample, question, options, reader, path)


def _grown(  # noqa: PLR0917 - likewise
    effects: Effects,
    sample: Sample,
    question: Question,
    options: Options,
    reader: Reader,
    path: str,
) -> Job:
    """Make a forest ready that is grown on predictions, or on the target."""
    rows = sample.draw(sample.rows, _GROWN_ON)
    chosen = feature_vectors.positions(options, sample.features.names)
    columns = tuple(sample.features.columns[j] for j in chosen)
    if options.knockoffs is not None:
        _check_numbers(options.features, [c[rows] for c in columns], f"{path}.knockoffs")
    of_labels = options.source is PathSource.LABELS
    truth: Matrix | None = None
    pairings: tuple[ClassPairing, ...] = ()
    if of_labels:
        whole, pairings = _truth(sample, question, options, reader.outputs, path)
        truth = whole[rows]
        growth = replace(options.growth, one_hot_target=truth.ndim == 1)
        options = replace(options, growth=growth)
    background = effects.restrict(sample.each(rows))

    def run() -> Result:
        learned = background.outputs() if truth is None else truth
        _check_varied(learned, "target_column" if of_labels else "model")
        asked = sample.places(options.row_indices)
        lesson = TrainingData(
            tuple(column[rows] for column in columns),
            tuple(column[asked] for column in columns) if len(asked) else None,
            learned,
            learned.ndim == 1,
            _of_largest(sample.weights[rows]),
        )
        return feature_vectors.from_training_data(
            options, lesson, question.seed, reader.pool.run, partial(cached, reader.pool.ledger)
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


def _truth(
    sample: Sample, question: Question, options: Options, outputs: Outputs, path: str
) -> tuple[Matrix, tuple[ClassPairing, ...]]:
    """Read the target: (n_rows, 1) numbers, or (n_rows,) names of classes."""
    column, one_hot = question.target_column, options.growth.one_hot_target
    values, pairings, is_class = target.read_labels(sample.table, column, outputs, one_hot, path)
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
