"""Preparation of interaction statistics: rows, approximation, target for tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note, Scale
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.background import Background, merge, unmerged
from onnxplain_server.effects.engine import RowEffects
from onnxplain_server.explain.methods.interaction_approximation import (
    approximated,
    knots_unnecessary,
    remarks,
)
from onnxplain_server.explain.methods.support.surrogate_interactions import (
    estimate_seconds,
    prepare_estimate,
)
from onnxplain_server.explain.question import Engine
from onnxplain_server.explain.registry import Change, Preparation, to_its_end
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import interactions, target
from onnxplain_server.methods.interactions import Options, Result
from onnxplain_server.methods.option_checks import singles
from onnxplain_server.methods.resampling import Resampling, few_rows_notes
from onnxplain_server.methods.sampled.intervals import LEVEL
from onnxplain_server.methods.target import Target
from onnxplain_server.methods.target_outputs import named_outputs

_REPEATS = 200
"""Replicates of intervals from a sample, where the request has none."""
_TRIPLE = 3
_KNOTS = 15
"""Knots between which effects are interpolated where time is saved."""


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare interaction statistics.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    sample = task.sample
    options = interactions.resolve(options, sample.features.names, task.path)
    if task.question.engine is Engine.SURROGATE:
        return prepare_estimate(task, options)
    streamed = _streamed(task, options)
    if streamed is not None:
        return streamed
    if options.permutation_count and task.question.cluster_column:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "permutation_count shuffles single rows, as if they were independent; rows of clusters "
            "are not. Leave permutation_count or cluster_column out",
            f"{task.path}.permutation_count",
        )
    truth = _test_target(task, options)
    rows = _rows(task, options)
    actual = None if truth is None else truth.values[rows]
    background = _background(sample, rows, options)
    # An engine of its own, whose plan holds only the predictions of this method.
    engine, unnecessary = approximated(task.effects.restrict(background), options)
    effects = interactions.grouped(engine, options)
    units = sample.units(background.source)
    notes = _pairs_sampled(effects, options) if options.pairwise_feature_count != 0 else ()
    return Job(
        options,
        interactions.cost(effects, options),
        lambda: interactions.compute(effects, options, sample.seed, actual, units),
        sample.used(rows),
        (*notes, *unnecessary, *few_rows_notes(options.resampling, background.weights, units)),
        remarks,
        truth.pairings if truth else (),
    )


def _streamed(task: Task, options: Options) -> Job[Result] | None:
    """Prepare the statistics on all rows of a table in blocks; None where that is not possible."""
    needs_rows = (
        options.resampling.repeat_count or options.permutation_count or options.quantile_bin_count
    )
    if needs_rows or options.groups or task.all_rows is None:
        return None
    trees, rows = task.all_rows
    names = task.sample.features.names
    notes = knots_unnecessary(options)
    return Job(
        options,
        interactions.streamed_cost(trees, names, options),
        lambda: interactions.compute_streamed(trees, names, options),
        rows.used(),
        notes,
        remarks,
        is_streamed=True,
    )


def _rows(task: Task, options: Options) -> Indices:
    """Return the rows drawn; of groups as few as of triples, where time grows with their square."""
    sample = task.sample
    if not options.groups:
        return sample.drawn
    every = sample.merged_draw
    kept = task.effects.restrict(every).for_joint(_TRIPLE).background
    return sample.drawn if len(kept) == len(every) else sample.draw_few(sample.drawn, len(kept))


def _background(sample: Sample, rows: Indices, options: Options) -> Background:
    """Take rows, approximated; equal ones are merged unless single rows are drawn."""
    is_merged = not (options.resampling.repeat_count or options.permutation_count)
    if is_merged and not options.quantile_bin_count:
        return sample.merged_draw if rows is sample.drawn else sample.merged(rows)
    take = merge if is_merged else unmerged
    features = interactions.approximate(sample.features.take(rows), options)
    return take(features, sample.weights[rows], sample.table.as_sent(rows), sample.weighted.unit)


def _test_target(task: Task, options: Options) -> Target | None:
    """Read the target of all rows of the table, if permutation tests are requested."""
    if not options.permutation_count:
        return None
    question, path = task.question, f"{task.path}.permutation_count"
    name = question.only_target("permutation_count")
    if not name:
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
    _check_one_output(task, name)
    return target.read_column(task.sample.table, name, task.outputs)


def _check_one_output(task: Task, name: str) -> None:
    """Refuse numbers that are the true values of one of several outputs."""
    outputs, field = task.outputs, task.question.target_field
    column = task.sample.table.column(name, field)
    is_class = target.is_class_target(column, outputs) or bool((column == np.floor(column)).all())
    if is_class or outputs.are_expressions or len(outputs.explained) == 1:
        return
    named_outputs((name,), outputs, field)
    raise ExplainError(
        Reason.INVALID_OPTION,
        f"permutation_count compares one output of numbers; choose {name!r} in outputs",
        "outputs",
    )


def _pairs_sampled(effects: RowEffects, options: Options) -> tuple[Note, ...]:
    """Warn if pairs are computed on fewer rows than single features."""
    sampled = interactions.for_joint(effects, options)
    pair_rows, rows = len(sampled.background), len(effects.background)
    if pair_rows == rows:
        return ()
    message = (
        f"Pairs and triples were computed on {pair_rows:,} of {rows:,} distinct rows, as their "
        "time grows with the square of the rows; set row_count for more."
    )
    return (Note(MethodWarning.PAIRS_SAMPLED, message),)


def _with_intervals(options: Options) -> Options:
    """Return options that give intervals, and no tests."""
    resampling = options.resampling
    if not resampling.repeat_count:
        resampling = Resampling(_REPEATS, resampling.scheme, LEVEL)
    return replace(options, resampling=resampling, permutation_count=0)


def _costliest(options: Options, feature_count: int, output_count: int) -> Options:
    """Return options with the most groups: each output may choose other features."""
    count, asked = len(options.features) or feature_count, options.pairwise_feature_count
    return replace(
        options,
        pairwise_feature_count=None if asked is None else min(asked * output_count, count),
        threeway_feature_count=min(options.threeway_feature_count * output_count, count),
    )


def _changes(options: Options) -> Iterator[Change]:
    count = options.pairwise_feature_count
    for fewer in (0,) if count is None else (count // 2, 0):
        if count is None or (fewer != 1 and fewer < count):
            what = f"Only pairs of the {fewer} strongest features are" if fewer else "No pairs are"
            before = "" if count is None else f", in place of those of {count}"
            text = f"{what} measured{before}; other numbers stay the same."
            yield Change("pairwise_feature_count", fewer, text)
    if not (options.knot_count or options.quantile_bin_count or options.groups):
        yield Change(
            "knot_count",
            _KNOTS,
            f"Effects of features with more than {_KNOTS} values are interpolated between {_KNOTS} "
            "knots; each statistic then comes with the estimated error of that.",
        )


PREPARATION = Preparation(
    prepare=prepare,
    moves_few_features=True,
    single_features=lambda options, names: singles(options.features or names, options.groups),
    leaves_out_additive=True,
    is_quadratic_on_trees=True,
    has_estimate=True,
    seconds=estimate_seconds,
    sample_shares=(16, 4),
    has_small_samples=True,
    with_intervals=_with_intervals,
    rehearsing=to_its_end,
    resamples_rows=lambda options: options.resampling.repeat_count > 0,
    # The features that interact make the pairs.
    is_count_exact=lambda options: options.pairwise_feature_count == 0,
    costliest=_costliest,
    changes=_changes,
    warm_up=(
        {"threewayFeatureCount": 3},
        {"threewayFeatureCount": 3, "quantileBinCount": 3},
    ),
)
