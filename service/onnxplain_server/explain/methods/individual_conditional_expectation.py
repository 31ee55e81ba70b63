"""Preparation of individual conditional expectation: rows of the curves and their groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Indices
from onnxplain_server.effects.column_values import SortedColumn
from onnxplain_server.explain.methods.partial_dependence import castable_grids, fewer_points
from onnxplain_server.explain.registry import Preparation, to_its_end
from onnxplain_server.explain.sample import Sample
from onnxplain_server.explain.streaming.streamed_columns import (
    StreamedColumns,
    known_columns,
    wanted_ranks,
)
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import individual_conditional_expectation as method
from onnxplain_server.methods.groups import grouping_of
from onnxplain_server.methods.individual_conditional_expectation import Options, Result
from onnxplain_server.trees.streaming.column_summary import ColumnSummary


def prepare(task: Task, options: Options) -> Job[Result]:
    """Prepare curves of single rows: of a table in blocks, grids and groups are those of all rows.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    sample, path = task.sample, task.path
    sent_count = sample.weighted.sent_row_count
    options = method.resolve(options, sample.features.names, sent_count, path)
    as_partial_dependence = options.as_partial_dependence
    columns = _summaries(task, options)
    of_all = StreamedColumns(sample.features, columns) if columns else None
    points = castable_grids(task.effects, sample.population, as_partial_dependence, path, of_all)
    rows = _rows(sample, options)

    def labels(column: str) -> tuple[str, ...]:
        values = sample.table.column(column, f"{path}.group_columns")
        grouped = np.union1d(sample.rows, rows)  # rows of weight 0 have curves and groups, too
        whole = columns[column] if columns else SortedColumn(values[grouped])
        grouping = grouping_of(whole, options.group_count)
        return tuple(grouping.labels[code] for code in grouping.codes(values[rows]))

    groups = tuple(map(labels, options.group_columns))
    # A curve has no weight, but the engines divide by the sum of those that they are given.
    background = replace(sample.unmerged(rows), weights=np.ones(len(rows)))
    effects = task.effects.restrict(background)
    return Job(
        options,
        method.cost(effects, points),
        lambda: method.compute(effects, options, points, groups),
        replace(sample.used(rows), used=len(rows)),
        are_rows_asked=bool(options.row_indices),
    )


def _rows(sample: Sample, options: Options) -> Indices:
    """Return the rows that get curves, ascending: those asked for, of any weight, or drawn ones."""
    if options.row_indices:
        return sample.positions(sorted(options.row_indices))
    return sample.draw_few(sample.drawn, options.curve_count)


def _summaries(task: Task, options: Options) -> Mapping[str, ColumnSummary]:
    """Summarize columns of a table in blocks; of none where the table is in memory."""
    trees, table = task.request.streamed_trees, task.sample.table
    if trees is None:
        return {}
    for column in options.group_columns:
        table.column(column, f"{task.path}.group_columns")
    wanted = wanted_ranks(options.as_partial_dependence, options.group_columns)
    return known_columns(trees, table, wanted) or {}


PREPARATION = Preparation(
    prepare=prepare,
    rehearsing=to_its_end,
    changes=lambda options: fewer_points(options.grid_size),
    warm_up=({"features": ["a"]},),
)
