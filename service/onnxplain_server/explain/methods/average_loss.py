"""Preparation of average loss: the target is read, and rows are split into groups."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.core.model import Note
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.explain.far_from_target import far_from_target
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import average_loss, target
from onnxplain_server.methods.average_loss import Options, Result
from onnxplain_server.methods.groups import Group


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare average losses.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    sample, outputs, path = task.sample, task.outputs, task.path
    options = average_loss.resolve(
        options, sample.table, task.question.target_column, outputs, path
    )
    truth = target.read(options.comparison, sample.table, outputs, path)
    rows = sample.draw(sample.rows, len(sample.rows))
    actual, weights = truth.values[rows], sample.weights[rows]
    groups = _ascending_groups(task, options, rows)
    expression = truth.expression and truth.expression.take(rows)
    effects = task.effects.restrict(sample.unmerged(rows))

    def remarks(result: Result) -> tuple[Note, ...]:
        by_group = np.stack([loss.values for loss in result.losses])
        losses = mean(by_group, np.array([loss.share for loss in result.losses]))
        names = result.output_names
        far = far_from_target(options.comparison, actual, weights, losses, names)
        return (*result.notes, *far)

    return Job(
        options,
        len(rows),
        lambda: average_loss.compute(effects, options, actual, groups, expression),
        sample.used(rows),
        remarks=remarks,
        pairings=truth.pairings,
    )


def _ascending_groups(task: Task, options: Options, rows: Indices) -> list[Group]:
    """Split rows by the group column: positions among `rows`, by ascending value, missing last."""
    if not options.group_column:
        return [Group("", np.arange(len(rows)))]
    groups = task.sample.groups(
        options.group_column, options.group_count, f"{task.path}.group_column"
    )
    drawn = [Group(g.label, np.flatnonzero(np.isin(rows, g.rows))) for g in groups]
    return [group for group in drawn if len(group.rows)]
