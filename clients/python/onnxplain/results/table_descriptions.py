"""Descriptions of tables: columns, rows, and the match with what a model takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results import origins
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular, to_rows
from onnxplain.v1 import table_description_pb2 as description_pb2
from onnxplain.v1.explanation_service_pb2 import DescribeTableResponse

_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("type", pa.string()),
        ("missing_count", pa.int64()),
        ("distinct_count", pa.int64()),
        ("minimum", pa.float64()),
        ("maximum", pa.float64()),
        ("mean", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """Description of a column.

    Attributes
    ----------
    name : str
    type : str
        "NUMBER", "TEXT" or "OTHER".
    other_type : str
        Name of the type of other values, which are not read; empty for others.
    missing_count, distinct_count : int
        Rows without a value; different values, without missing ones.
    minimum, maximum, mean : float or None
        Of numbers; None without values.
    frequent_values : mapping of str to int
        The most frequent values, as text, with their rows: of text, and of numbers with at most 20
        different values.
    """

    name: str
    type: str
    other_type: str
    missing_count: int
    distinct_count: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    frequent_values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FeatureMatching:
    """Match of the columns of a table with what a model takes.

    Attributes
    ----------
    feature_columns : tuple of str
        The columns that the model is fed, in its order; empty where it cannot be fed.
    rule : str
        "LISTED", "BY_NAME" or "BY_POSITION"; "RULE_UNSPECIFIED" where it cannot be fed.
    refusal : str
        Why the model cannot be fed from this table; empty where it can.
    missing_columns : tuple of str
        Columns that the model names and the table lacks, where it cannot be fed.
    target_column : str
        As requested, or a proposal; may be empty.
    """

    feature_columns: tuple[str, ...]
    rule: str
    refusal: str
    missing_columns: tuple[str, ...]
    target_column: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableDescription(Tabular):
    """Description of a table; made by `Client.describe_table`.

    Attributes
    ----------
    row_count : int
    columns : tuple of ColumnDescription
        In the order of the table; those of other types than numbers and text are last.
    row_indices : tuple of int
        Numbers of the returned rows, from 0.
    rows : pyarrow.Table
        The returned rows: columns of numbers and text.
    distances : array of float
        Distances of the nearest rows; empty for others.
    matching : FeatureMatching or None
        None without a model.
    warnings : tuple of Warning
        What to know before trusting the match.
    message : DescribeTableResponse
        The description as the contract has it.
    """

    row_count: int
    columns: tuple[ColumnDescription, ...]
    row_indices: tuple[int, ...]
    rows: pa.Table
    distances: npt.NDArray[np.float64]
    matching: FeatureMatching | None
    warnings: tuple[origins.Warning, ...]
    message: DescribeTableResponse = field(repr=False)

    @classmethod
    def from_message(cls, message: DescribeTableResponse) -> TableDescription:
        """Read the message of the contract."""
        table = message.table
        matching = read(FeatureMatching, table.matching) if table.HasField("matching") else None
        return cls(
            row_count=int(table.row_count),
            columns=tuple(map(_column, table.columns)),
            row_indices=tuple(table.rows.row_indices),
            rows=_rows(table),
            distances=np.array(table.rows.distances, dtype=np.float64),
            matching=matching,
            warnings=tuple(map(origins.Warning.from_message, message.warnings)),
            message=message,
        )

    def __repr__(self) -> str:
        return f"Table of {self.row_count:,} rows and {len(self.columns):,} columns"

    def to_arrow(self) -> pa.Table:
        """Return one row per column of the table, with its counts and numbers."""
        return to_rows(
            [[getattr(column, name) for name in _SCHEMA.names] for column in self.columns], _SCHEMA
        )


def _column(message: description_pb2.ColumnDescription) -> ColumnDescription:
    optional = ("minimum", "maximum", "mean")
    numbers = {n: getattr(message, n) if message.HasField(n) else None for n in optional}
    return read(
        ColumnDescription,
        message,
        missing_count=int(message.missing_count),
        distinct_count=int(message.distinct_count),
        frequent_values={v.value: int(v.row_count) for v in message.frequent_values},
        **numbers,
    )


def _rows(table: description_pb2.TableDescription) -> pa.Table:
    types = {column.name: column.type for column in table.columns}
    text = description_pb2.ColumnDescription.TEXT
    return pa.table(
        {
            column.name: pa.array(column.strings, pa.string())
            if types[column.name] == text
            else pa.array(np.array(column.numbers, dtype=np.float64))
            for column in table.rows.columns
        }
    )
