"""Preparation of partial dependence: grids are laid, and rows drawn within each group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.methods.support.curve_support import SupportOfCurves
from onnxplain_server.explain.registry import Change, Preparation, halvings, to_its_end
from onnxplain_server.explain.streaming.streamed_columns import (
    StreamedColumns,
    known_columns,
    wanted_ranks,
)
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.grids import GridColumns, lay_grids
from onnxplain_server.methods.groups import grouping_of
from onnxplain_server.methods.partial_dependence import GroupedRows, Options, Result, RowGroup
from onnxplain_server.methods.sampled import partial_dependence as sampled
from onnxplain_server.methods.sampled.intervals import SampledRows

_FEWEST_POINTS = 5
"""Points of a curve where they are saved."""


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare partial dependence.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    effects, sample = task.effects, task.sample
    options = partial_dependence.resolve(options, sample.features.names, task.path)
    streamed = _streamed(task, options)
    if streamed is not None:
        return streamed
    support = SupportOfCurves(task, options)
    points = support.cut(castable_grids(effects, sample.population, options, task.path))
    groups, rows = _row_groups(task, options)

    def run() -> Result:
        result = partial_dependence.compute(effects, options, points, groups)
        return support.told(result, support.sources_of(groups))

    def run_sampled(of: SampledRows) -> Result:
        result = sampled.compute(effects.restrict(sample.unmerged(rows)), options, points, of)
        return support.told(result, support.sources_of(groups))

    return Job(
        options,
        partial_dependence.cost(points, groups),
        run,
        sample.used(rows),
        run_sampled=None if options.group_column else run_sampled,
    )


def _streamed(task: Task, options: Options) -> Job[Result] | None:
    """Prepare the curves on all rows of a table in blocks; None where that is not possible."""
    if task.all_rows is None:
        return None
    trees, rows = task.all_rows
    sample, column = task.sample, options.group_column
    if column:
        sample.table.column(column, f"{task.path}.group_column")
    wanted = wanted_ranks(options, [column] if column else [])
    summaries = known_columns(trees, sample.table, wanted)
    if summaries is None:
        return None
    columns = StreamedColumns(sample.features, summaries)
    support = SupportOfCurves(task, options)
    points = castable_grids(task.effects, sample.features, options, task.path, columns)
    points = support.cut(points)
    grouping = grouping_of(summaries[column], options.group_count) if column else None
    of = GroupedRows(column, grouping, rows.unit)
    passes = trees.group_passes(len(grouping.labels)) if grouping else 1

    def run() -> Result:
        features = sample.features
        result = partial_dependence.compute_streamed(trees, options, points, features, of)
        return support.told(result, support.sampled_sources(column, grouping))

    return Job(
        options,
        rows.row_count * passes,
        run,
        rows.used(),
        is_streamed=True,
    )


def castable_grids(
    effects: Effects,
    features: Features,
    options: Options,
    path: str,
    columns: GridColumns | None = None,
) -> list[tuple[Array, ...]]:
    """Lay grids, and refuse points that the model's input types cannot hold."""
    points = lay_grids(effects, features, options, path, columns)
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


def fewer_points(grid_size: int) -> Iterator[Change]:
    """Yield changes of the number of points of curves."""
    for fewer in halvings(grid_size, _FEWEST_POINTS):
        yield Change(
            "grid_size",
            fewer,
            f"Curves have {fewer} points in place of {grid_size}, and show nothing of what happens "
            "between them; their values at a point are as accurate as before.",
        )


PREPARATION = Preparation(
    prepare=prepare,
    moves_few_features=True,
    sample_shares=(16,),
    rehearsing=to_its_end,
    changes=lambda options: fewer_points(options.grid_size),
    warm_up=({"gridSize": 3}, {"features": [{"names": ["a", "b"]}]}),
)
