"""Methods made ready to run: options resolved, rows taken, the cost known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Model, Note, Scale
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import sample_rows
from onnxplain_server.effects.background import merge, unmerged
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.explain.far_from_target import far_from_target
from onnxplain_server.explain.job import Job, Reader
from onnxplain_server.explain.methods import firm as firm_jobs
from onnxplain_server.explain.methods.feature_vectors import with_table, without_table
from onnxplain_server.explain.methods.interaction_approximation import approximated, remarks
from onnxplain_server.explain.methods.swarm import prepare as prepare_swarm
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.sample import Sample
from onnxplain_server.methods import (
    average_loss,
    feature_vectors,
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    sequences,
    swarm,
    target,
)
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.grids import lay_grids
from onnxplain_server.methods.groups import Group
from onnxplain_server.methods.registry import Options, Result
from onnxplain_server.methods.registry import notes as notes_of
from onnxplain_server.methods.resampling import few_rows_notes
from onnxplain_server.methods.target import Target

_SHUFFLED_ROWS = 10_000
"""Rows for permutation importance, whose cost grows with their number only."""


def prepare_without_table(
    model: Model, question: Question, options: Options, reader: Reader, path: str
) -> Job:
    """Make a method ready that needs no table.

    Raises
    ------
    ExplainError
        INVALID_REQUEST for the other methods.
    """
    if not isinstance(options, feature_vectors.Options):
        raise ExplainError(
            Reason.INVALID_REQUEST, "no table: give it as arrow, parquet, csv or columns", "table"
        )
    return without_table(model, question, options, reader, f"{path}.feature_vectors")


def prepare(  # noqa: PLR0911, PLR0917 - one return per method, and all that they need
    effects: Effects,
    sample: Sample,
    question: Question,
    options: Options,
    reader: Reader,
    path: str,
) -> Job:
    """Make a method ready; `path` is that of its options in the request.

    Raises
    ------
    ExplainError
        Where its options cannot be met.
    """
    match options:
        case interactions.Options():
            path = f"{path}.interactions"
            return _interactions(effects, sample, question, options, reader.outputs, path)
        case partial_dependence.Options():
            return _curves(effects, sample, options, f"{path}.partial_dependence")
        case individual_conditional_expectation.Options():
            path = f"{path}.individual_conditional_expectation"
            return _individual_curves(effects, sample, options, path)
        case permutation_importance.Options():
            path = f"{path}.permutation_importance"
            return _importance(effects, sample, question, options, reader.outputs, path)
        case average_loss.Options():
            path = f"{path}.average_loss"
            return _loss(effects, sample, question, options, reader.outputs, path)
        case feature_vectors.Options():
            path = f"{path}.feature_vectors"
            return with_table(effects, sample, question, options, reader, path)
        case firm.Options():
            return firm_jobs.prepare(effects, sample, question, options, reader, f"{path}.firm")
        case sequences.Options():
            raise ValueError("sequences have no rows")
        case swarm.Options():
            return prepare_swarm(sample, question, options, reader, f"{path}.swarm")


def _interactions(  # noqa: PLR0917 - all that it is made of
    effects: Effects,
    sample: Sample,
    question: Question,
    options: interactions.Options,
    outputs: Outputs,
    path: str,
) -> Job:
    options = interactions.resolve(options, sample.features.names, path)
    actual = _tested_against(sample, question, options, outputs, path)
    rows = sample.drawn
    truth = None if actual is None else actual.values[rows]
    features = interactions.approximate(sample.features.take(rows), options)
    # Resampling and tests are about single rows; otherwise equal ones are merged.
    take = unmerged if options.resampling.repeat_count or options.permutation_count else merge
    background = take(
        features, sample.weights[rows], sample.table.as_sent(rows), sample.weighed.unit
    )
    # An engine of its own, so that what is planned for this method is done in it.
    effects, unnecessary = approximated(effects.restrict(background), options)
    cost = interactions.cost(effects, options)
    notes = _pairs_sampled(effects) if options.pairwise_feature_count else ()
    return Job(
        options,
        cost,
        lambda: interactions.compute(effects, options, sample.seed, truth),
        sample.used(sample.drawn),
        (*notes, *unnecessary, *few_rows_notes(options.resampling, background.weights)),
        remarks,
        actual.pairings if actual else (),
    )


def _tested_against(
    sample: Sample,
    question: Question,
    options: interactions.Options,
    outputs: Outputs,
    path: str,
) -> Target | None:
    """Read the true values of all rows of the table, where terms are tested."""
    if not options.permutation_count:
        return None
    path = f"{path}.permutation_count"
    if not question.target_column:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "permutation_count needs the true values: name their column in target_column",
            path,
        )
    if question.scale is Scale.MARGIN:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "permutation_count compares predictions with the target, which has no margin; "
            "ask with the scale RESPONSE, or leave permutation_count out",
            path,
        )
    return target.read_column(sample.table, question.target_column, outputs)


def _pairs_sampled(effects: Effects) -> tuple[Note, ...]:
    """Say where pairs are computed on fewer rows than single features."""
    taken, whole = len(effects.for_joint().background), len(effects.background)
    if taken == whole:
        return ()
    message = (
        f"Pairs and triples were computed on {taken:,} of {whole:,} distinct rows, as their time "
        "grows with the square of the rows; set row_count for more."
    )
    return (Note("PAIRS_SAMPLED", message),)


def _curves(
    effects: Effects, sample: Sample, options: partial_dependence.Options, path: str
) -> Job:
    options = partial_dependence.resolve(options, sample.features.names, path)
    points = _grids(effects, sample.features, options, path)
    parts, rows = _parts(effects, sample, options, f"{path}.group_column")
    cost = partial_dependence.cost(points, parts)
    return Job(
        options,
        cost,
        lambda: partial_dependence.compute(effects, options, points, parts),
        sample.used(rows),
    )


def _grids(
    effects: Effects, features: Features, options: partial_dependence.Options, path: str
) -> list[tuple[Array, ...]]:
    """Lay grids, and refuse points that the model cannot take."""
    points = lay_grids(effects, features, options, path)
    for i, (names, grid) in enumerate(zip(options.features, points, strict=True)):
        for name, values in zip(names, grid, strict=True):
            features.cast(features.index(name), values, f"{path}.grids[{i}]")
    return points


def _parts(
    effects: Effects, sample: Sample, options: partial_dependence.Options, path: str
) -> tuple[list[partial_dependence.RowGroup], Indices]:
    """Split the table by the group column, and draw rows within each group: these rows too."""
    if not options.group_column:
        return [partial_dependence.RowGroup("", effects.background)], sample.drawn
    parts, drawn = [], []
    for group in sample.groups(options.group_column, options.group_count, path):
        drawn.append(sample.draw(group.rows))
        background = sample.merged(drawn[-1])
        parts.append(partial_dependence.RowGroup(group.label, background))
    return parts, np.concatenate(drawn)


def _individual_curves(
    effects: Effects,
    sample: Sample,
    options: individual_conditional_expectation.Options,
    path: str,
) -> Job:
    names = sample.features.names
    options = individual_conditional_expectation.resolve(options, names, path)
    points = _grids(effects, sample.features, options.as_partial_dependence, path)
    rows = sample.drawn[sample_rows(len(sample.drawn), options.curve_count, sample.seed)]
    groups = tuple(
        _labels(sample.groups(column, options.group_count, f"{path}.group_columns"), rows)
        for column in options.group_columns
    )
    effects = effects.restrict(sample.each(rows))
    cost = individual_conditional_expectation.cost(effects, points)
    return Job(
        options,
        cost,
        lambda: individual_conditional_expectation.compute(effects, options, points, groups),
        sample.used(rows),
    )


def _labels(groups: Sequence[Group], rows: Indices) -> tuple[str, ...]:
    """Name the group of each of some rows."""
    group_of = {row: group.label for group in groups for row in group.rows.tolist()}
    return tuple(group_of[row] for row in rows.tolist())


def _importance(  # noqa: PLR0917 - all that it is made of
    effects: Effects,
    sample: Sample,
    question: Question,
    options: permutation_importance.Options,
    outputs: Outputs,
    path: str,
) -> Job:
    names, table, column = sample.features.names, sample.table, question.target_column
    options = permutation_importance.resolve(options, names, table, column, outputs, path)
    truth = target.read(options.comparison, table, outputs, path)
    actual = truth.values
    rows = sample.draw(sample.rows, _SHUFFLED_ROWS)
    effects = effects.restrict(sample.each(rows))
    cost = permutation_importance.cost(effects, options)
    return Job(
        options,
        cost,
        lambda: permutation_importance.compute(effects, options, actual[rows], sample.seed),
        sample.used(rows),
        remarks=partial(_importance_remarks, options, actual[rows], sample.weights[rows]),
        pairings=truth.pairings,
    )


def _loss(  # noqa: PLR0917 - all that it is made of
    effects: Effects,
    sample: Sample,
    question: Question,
    options: average_loss.Options,
    outputs: Outputs,
    path: str,
) -> Job:
    options = average_loss.resolve(options, sample.table, question.target_column, outputs, path)
    truth = target.read(options.comparison, sample.table, outputs, path)
    actual = truth.values
    rows = sample.draw(sample.rows, len(sample.rows))
    groups = _ascending_groups(sample, options, rows, f"{path}.group_column")
    effects = effects.restrict(sample.each(rows))
    return Job(
        options,
        len(rows),
        lambda: average_loss.compute(effects, options, actual[rows], groups),
        sample.used(rows),
        remarks=partial(_loss_remarks, options, actual[rows], sample.weights[rows]),
        pairings=truth.pairings,
    )


def _importance_remarks(
    options: permutation_importance.Options, actual: Matrix, weights: Vector, result: Result
) -> tuple[Note, ...]:
    if not isinstance(result, permutation_importance.Result):
        raise TypeError(type(result))
    comparison, losses = options.comparison, result.baseline_losses
    far = far_from_target(comparison, actual, weights, losses, result.output_names)
    return (*notes_of(result), *far)


def _loss_remarks(
    options: average_loss.Options, actual: Matrix, weights: Vector, result: Result
) -> tuple[Note, ...]:
    if not isinstance(result, average_loss.Result):
        raise TypeError(type(result))
    each = np.stack([loss.values for loss in result.losses])
    losses = mean(each, np.array([loss.share for loss in result.losses]))
    far = far_from_target(options.comparison, actual, weights, losses, result.output_names)
    return (*notes_of(result), *far)


def _ascending_groups(
    sample: Sample, options: average_loss.Options, rows: Indices, path: str
) -> list[Group]:
    """Split rows by the group column: positions among `rows`, by ascending value, missing last."""
    if not options.group_column:
        return [Group("", np.arange(len(rows)))]
    groups = sample.groups(options.group_column, options.group_count, path)
    placed = [Group(g.label, np.flatnonzero(np.isin(rows, g.rows))) for g in groups]
    return [group for group in placed if len(group.rows)]
