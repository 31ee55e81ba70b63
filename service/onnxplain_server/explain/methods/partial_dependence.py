"""Preparation of partial dependence: grids are laid, and rows drawn within each group."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.grids import lay_grids
from onnxplain_server.methods.partial_dependence import Options, Result, RowGroup


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare partial dependence.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    effects, sample = task.effects, task.sample
    options = partial_dependence.resolve(options, sample.features.names, task.path)
    points = castable_grids(effects, sample.features, options, task.path)
    groups, rows = _row_groups(task, options)
    return Job(
        options,
        partial_dependence.cost(points, groups),
        lambda: partial_dependence.compute(effects, options, points, groups),
        sample.used(rows),
    )


def castable_grids(
    effects: Effects, features: Features, options: Options, path: str
) -> list[tuple[Array, ...]]:
    """Lay grids, and refuse points that the model's input types cannot hold."""
    points = lay_grids(effects, features, options, path)
    for i, (names, grid) in enumerate(zip(options.features, points, strict=True)):
        for name, values in zip(names, grid, strict=True):
            features.cast(features.index(name), values, f"{path}.grids[{i}]")
    return points


def _row_groups(task: Task, options: Options) -> tuple[list[RowGroup], Indices]:
    """Split the table by the group column, and draw rows within each group."""
    sample = task.sample
    if not options.group_column:
        return [RowGroup("", task.effects.background)], sample.drawn
    row_groups, drawn = [], []
    path = f"{task.path}.group_column"
    for group in sample.groups(options.group_column, options.group_count, path):
        drawn.append(sample.draw(group.rows))
        row_groups.append(RowGroup(group.label, sample.merged(drawn[-1])))
    return row_groups, np.concatenate(drawn)
