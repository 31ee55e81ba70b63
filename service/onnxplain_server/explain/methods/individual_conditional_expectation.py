"""Preparation of individual conditional expectation: rows of the curves and their groups."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.arrays import Indices
from onnxplain_server.explain.methods.partial_dependence import castable_grids
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import individual_conditional_expectation as method
from onnxplain_server.methods.groups import Group
from onnxplain_server.methods.individual_conditional_expectation import Options, Result


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare curves of single rows.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    sample, path = task.sample, task.path
    options = method.resolve(options, sample.features.names, path)
    points = castable_grids(task.effects, sample.features, options.as_partial_dependence, path)
    rows = sample.draw_few(sample.drawn, options.curve_count)
    groups = tuple(
        _labels(sample.groups(column, options.group_count, f"{path}.group_columns"), rows)
        for column in options.group_columns
    )
    effects = task.effects.restrict(sample.unmerged(rows))
    return Job(
        options,
        method.cost(effects, points),
        lambda: method.compute(effects, options, points, groups),
        sample.used(rows),
    )


def _labels(groups: Sequence[Group], rows: Indices) -> tuple[str, ...]:
    """Return the label of each row's group."""
    group_of = {row: group.label for group in groups for row in group.rows.tolist()}
    return tuple(group_of[row] for row in rows.tolist())
