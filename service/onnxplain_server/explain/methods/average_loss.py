"""Preparation of average loss: the target is read, and rows are split into groups."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.far_from_target import far_from_target, reversed_ranking
from onnxplain_server.explain.loss_choice import with_loss
from onnxplain_server.explain.methods.compared_outputs import on_compared_outputs
from onnxplain_server.explain.methods.support.streamed_target import streamed_target
from onnxplain_server.explain.registry import Preparation, to_its_end
from onnxplain_server.explain.rows.ranked_rows import draw_rows
from onnxplain_server.explain.streaming.streamed_columns import known_columns
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import average_loss, target
from onnxplain_server.methods.average_loss import Compared, Options, Result
from onnxplain_server.methods.comparison import RowContext
from onnxplain_server.methods.groups import Group, group_ranks, grouping_of
from onnxplain_server.methods.ranking.queries import Queries
from onnxplain_server.methods.resampling import RowUnits
from onnxplain_server.methods.streamed_loss import ONE_GROUP, LossPass
from onnxplain_server.trees.streaming.passes import KeyedSums


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare average losses.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    average_loss.check(options, task.path)
    task = on_compared_outputs(task, options.comparison)
    streamed = _streamed(task, options)
    if streamed is not None:
        return streamed
    sample, outputs, path = task.sample, task.outputs, task.path
    options = average_loss.resolve(options, sample.table, task.question.targets, outputs, path)
    options = replace(options, comparison=with_loss(options.comparison, task))
    truth = target.read(options.comparison, sample.table, outputs, path)
    rows = draw_rows(sample, truth.beside, len(sample.rows), path)
    actual, weights = truth.values[rows], sample.weights[rows]
    groups = _ascending_groups(task, options, rows)
    beside = truth.beside and truth.beside.take(rows)
    effects = task.effects.restrict(sample.unmerged(rows))

    def remarks(result: Result) -> tuple[Note, ...]:
        names = result.output_names
        told = options.comparison, actual, weights, result.total, names
        far = far_from_target(*told, predict=effects.outputs)
        far += reversed_ranking(*told, effects.outputs, beside)
        return (*result.notes, *far)

    units = _units(task, options, sample.table.as_sent(rows), beside)
    compared = Compared(actual, groups, beside, units)
    return Job(
        options,
        len(rows),
        lambda: _run(effects, options, compared, sample.seed),
        sample.used(rows),
        remarks=remarks,
        pairings=truth.pairings,
    )


def _run(effects: Effects, options: Options, compared: Compared, seed: int) -> Result:
    """Compute the losses, with intervals where replicates are asked for."""
    own = compared.actual, compared.groups, compared.beside
    result = average_loss.compute(effects, options, *own)
    if not options.resampling.repeat_count:
        return result
    return average_loss.with_intervals(result, effects, options, compared, seed)


def _streamed(task: Task, options: Options) -> Job[Result] | None:
    """Prepare the losses of all rows of a table in blocks; None where that is not possible."""
    if task.all_rows is None or options.resampling.repeat_count:
        return None
    trees, rows = task.all_rows
    sample, column = task.sample, options.group_column
    if column:
        sample.table.column(column, f"{task.path}.group_column")
    target = streamed_target(task, trees, options.comparison)
    if target is None:
        return None
    options = replace(options, comparison=target.comparison)
    average_loss.check(options, task.path)
    wanted = {column: group_ranks(options.group_count)} if column else {}
    summaries = known_columns(trees, sample.table, wanted)
    if summaries is None:
        return None
    grouping = grouping_of(summaries[column], options.group_count) if column else ONE_GROUP
    work = LossPass(target.reader, target.comparison, column, grouping)

    def run() -> Result:
        parts = cast("KeyedSums", trees.sum(work)).parts
        sums = [(grouping.labels[group], parts[group]) for group in sorted(parts)]
        names = options.comparison.output_names(trees.outputs.names)
        return average_loss.result_of(options, sums, names, rows.unit)

    return Job(
        options,
        rows.row_count + target.cost,
        run,
        rows.used(),
        remarks=lambda result: (*result.notes, *target.remarks()),
        pairings=target.pairings,
        is_streamed=True,
    )


def _units(task: Task, options: Options, numbers: Indices, beside: RowContext | None) -> RowUnits:
    """Return what replicates draw: rows, clusters, or the queries of a ranking."""
    if not options.comparison.is_ranking or not options.resampling.repeat_count:
        return task.sample.units(numbers)
    if task.question.cluster_column:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "replicates of a ranking draw its queries; leave cluster_column out, or ask for the "
            "ranking in a request of its own",
            "cluster_column",
        )
    if not isinstance(beside, Queries) or not beside.codes.any():
        raise ExplainError(
            Reason.INVALID_OPTION,
            "replicates of a ranking draw its queries, and all rows are one; name query_column, or "
            "leave repeat_count out",
            f"{task.path}.repeat_count",
        )
    return RowUnits(beside.codes, "queries")


def _ascending_groups(task: Task, options: Options, rows: Indices) -> list[Group]:
    """Split rows by the group column: positions among `rows`, by ascending value, missing last."""
    if not options.group_column:
        return [Group("", np.arange(len(rows)))]
    groups = task.sample.groups(
        options.group_column, options.group_count, f"{task.path}.group_column"
    )
    drawn = [Group(g.label, np.flatnonzero(np.isin(rows, g.rows))) for g in groups]
    return [group for group in drawn if len(group.rows)]


PREPARATION = Preparation(
    prepare=prepare,
    rehearsing=to_its_end,
    resamples_rows=lambda options: options.resampling.repeat_count > 0,
)
