"""Use case `describe_table`: what a table holds, some of its rows, and their match with a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.castable import check_kind
from onnxplain_server.core.contract_limits import DescribeTableRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.limits import within
from onnxplain_server.core.table import Table
from onnxplain_server.explain.rows.column_summary import ColumnCounts, summarize
from onnxplain_server.explain.rows.nearest_rows import distances, nearest
from onnxplain_server.methods.option_checks import check_row_indices


@dataclass(frozen=True, slots=True, eq=False)
class RowChoice:
    """Rows of a table to return.

    Attributes
    ----------
    row_count : int or None
        None: the default.
    row_indices : tuple of int
        In place of the first rows.
    near : mapping of column to (n,), or None
        A row whose nearest rows are returned in place of the first.
    """

    row_count: int | None = None
    row_indices: tuple[int, ...] = ()
    near: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TableSummary:
    """Summary of a table; see `TableDescription` in the contract.

    Attributes
    ----------
    row_count : int
    columns : tuple of ColumnCounts
    rows : (n,)
        Numbers of rows.
    values : Table
        These rows.
    distances : (n,) or None
        Of the nearest rows.
    """

    row_count: int
    columns: tuple[ColumnCounts, ...]
    rows: Indices
    values: Table
    distances: Vector | None


def describe_table(table: Table, choice: RowChoice, host: ComputationHost) -> TableSummary:
    """Describe a table.

    Raises
    ------
    ExplainError
        INVALID_OPTION, MISSING_COLUMN or WRONG_TYPE, with the path of the request's field.
    """
    rows, distance = _rows(table, choice)
    columns = tuple(_columns(table, host))
    return TableSummary(table.n_rows, columns, rows, table.take(rows), distance)


def _columns(table: Table, host: ComputationHost) -> Iterator[ColumnCounts]:
    for name, values in table.stored.items():
        host.advance(0, 0)  # or end here
        yield summarize(name, values)
    for name, kind in table.unreadable.items():
        yield ColumnCounts(name, "OTHER", kind)


def _rows(table: Table, choice: RowChoice) -> tuple[Indices, Vector | None]:
    """Return the rows that were asked for, and the distances of the nearest ones."""
    limits = DescribeTableRequest
    count = limits.row_count.default if choice.row_count is None else choice.row_count
    within(count, limits.row_count, "row_count")
    if choice.row_indices:
        if choice.near is not None or choice.row_count is not None:
            other = "row_count" if choice.near is None else "near"
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"row_indices and {other} both choose the rows; leave one out",
                "row_indices",
            )
        check_row_indices(choice.row_indices, table.n_rows, limits.row_indices, "row_indices")
        return np.array(choice.row_indices, dtype=np.intp), None
    if choice.near is None:
        return np.arange(min(count, table.n_rows)), None
    distance = _distances(table, choice.near)
    rows = nearest(distance, count)
    return rows, distance[rows]


def _distances(table: Table, near: Mapping[str, Array]) -> Vector:
    if not near or any(len(values) != 1 for values in near.values()):
        raise ExplainError(
            Reason.INVALID_OPTION,
            "near must be one row: at least one column, each with one value",
            "near",
        )
    columns = [table.stored_column(name, "near") for name in near]
    for (name, value), column in zip(near.items(), columns, strict=True):
        check_kind(name, value, column, "near")
    return distances(columns, list(near.values()))
