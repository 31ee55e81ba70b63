"""Preparation of partial dependence: grids are laid, and rows drawn within each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.engine import Effects
from onnxplain_server.explain.methods.support.curve_support import SupportOfCurves
from onnxplain_server.explain.methods.support.observed_means import ObservedMeans
from onnxplain_server.explain.registry import Change, Preparation, halvings, to_its_end
from onnxplain_server.explain.streaming.streamed_columns import (
    StreamedColumns,
    known_columns,
    wanted_ranks,
)
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import partial_dependence, streamed_curves
from onnxplain_server.methods.grids import GridColumns, lay_grids
from onnxplain_server.methods.groups import Group, grouping_of
from onnxplain_server.methods.partial_dependence import Options, Result, RowGroup
from onnxplain_server.methods.sampled import curve_bands
from onnxplain_server.methods.sampled import partial_dependence as sampled
from onnxplain_server.methods.sampled.intervals import SampledRows
from onnxplain_server.methods.sampled.replicated_curves import ResampledRows

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
    drawn = _drawn_groups(task, options)
    rows = np.concatenate([group.rows for group in drawn])
    groups = _row_groups(task, drawn)
    if options.resampling.repeat_count:
        return _with_bands(task, options, points, drawn, support)

    observed = ObservedMeans(task, drawn)

    def run() -> Result:
        result = partial_dependence.compute(effects, options, points, groups)
        return observed.told(support.told(result, support.sources_of(groups)))

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


def _with_bands(
    task: Task,
    options: Options,
    points: list[tuple[Array, ...]],
    groups: list[Group],
    support: SupportOfCurves,
) -> Job[Result]:
    """Prepare the curves with bands, which replicates of single rows tell."""
    effects, sample, seed = task.effects, task.sample, task.sample.seed
    resampled = [
        ResampledRows(g.label, sample.unmerged(g.rows), sample.units(sample.table.as_sent(g.rows)))
        for g in groups
    ]
    merged, observed = _row_groups(task, groups), ObservedMeans(task, groups)
    predicts = task.request.tabular_choice.predicts
    is_whole = curve_bands.are_all_averaged(resampled, options.resampling, predicts=predicts)
    drawn = resampled if is_whole else [group.sample(seed) for group in resampled]
    own_cost = 0 if is_whole else partial_dependence.cost(points, merged)

    def run() -> Result:
        plain = None if is_whole else partial_dependence.compute(effects, options, points, merged)
        result = curve_bands.compute(effects, options, points, resampled, seed, plain)
        return observed.told(support.told(result, support.sources_of(merged)))

    rows = np.concatenate([group.rows for group in groups])
    return Job(options, own_cost + curve_bands.cost(points, drawn), run, sample.used(rows))


def _streamed(task: Task, options: Options) -> Job[Result] | None:
    """Prepare the curves on all rows of a table in blocks; None where that is not possible."""
    if task.all_rows is None or options.resampling.repeat_count:
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
    of = streamed_curves.GroupedRows(column, grouping, rows.unit)
    passes = trees.group_passes(len(grouping.labels)) if grouping else 1

    def run() -> Result:
        features = sample.features
        result = streamed_curves.compute_streamed(trees, options, points, features, of)
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


def _drawn_groups(task: Task, options: Options) -> list[Group]:
    """Split the table by the group column, and draw rows within each group."""
    sample = task.sample
    if not options.group_column:
        return [Group("", sample.drawn)]
    path = f"{task.path}.group_column"
    groups = sample.groups(options.group_column, options.group_count, path)
    return [Group(group.label, sample.draw(group.rows)) for group in groups]


def _row_groups(task: Task, groups: Sequence[Group]) -> list[RowGroup]:
    """Take the rows of groups; equal ones are merged."""
    if len(groups) == 1 and not groups[0].label:
        return [RowGroup("", task.effects.background)]
    return [RowGroup(group.label, task.sample.merged(group.rows)) for group in groups]


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
    resamples_rows=lambda options: options.resampling.repeat_count > 0,
    warm_up=(
        {"gridSize": 3},
        {"gridSize": 3, "repeatCount": 10},
        {"features": [{"names": ["a", "b"]}]},
    ),
)
