"""Plan of reading a table's files for a question about columns: names, types, filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from onnxplain_server.adapters.sources.interfaces import SourceFile, TableFilter
from onnxplain_server.adapters.sources.tables.file_schemas import FileSchemas, conform
from onnxplain_server.adapters.sources.tables.partitions import Partitions
from onnxplain_server.adapters.sources.tables.row_filter import expression
from onnxplain_server.core.errors import ExplainError, Reason


@dataclass(frozen=True)
class ReadingPlan:
    """Plan of reading: columns and filter of the files, and names of the result.

    Attributes
    ----------
    file_types : dict of str to DataType
        Columns to read from files: those of the result, then those that only filters need.
    result_types : dict of str to DataType
        Columns of the result, keys of partitions last.
    condition : Expression or None
        Filter of rows; filters on keys have chosen the files already.
    """

    partitions: Partitions
    file_types: dict[str, pa.DataType]
    result_types: dict[str, pa.DataType]
    condition: pc.Expression | None

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.result_types.items()))

    def finish(self, table: pa.Table, file: SourceFile, row_count: int) -> pa.Table:
        """Give rows of a file its keys and the common types, and drop those that are filtered out.

        Parameters
        ----------
        table : (row_count, n_columns) Table
            With the columns of `file_types`.
        """
        table = conform(table, self.file_types)
        if self.condition is not None:
            table = table.filter(self.condition)
            row_count = table.num_rows
        columns = [
            table.column(name)
            if name in self.file_types
            else pa.repeat(self.partitions.scalar(file, name), row_count)
            for name in self.result_types
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def least_bytes(self, row_count: int) -> int:
        """Return what the columns of files take at least: text has 4 bytes or more a row."""
        return row_count * sum(map(_width, self.file_types.values())) // 8


def plan(
    schemas: FileSchemas,
    partitions: Partitions,
    filters: Sequence[TableFilter],
    columns: Sequence[str] | None,
) -> ReadingPlan:
    """Plan the reading of columns, all if None.

    Raises
    ------
    ExplainError
        MISSING_COLUMN, INVALID_TABLE, INVALID_REQUEST.
    """
    keys = partitions.types
    every = [*schemas.names, *keys]
    of_rows = [given for given in filters if given.column not in keys]
    for name in [*(columns or ()), *(given.column for given in filters)]:
        _check_column(name, every)
    chosen = every if columns is None else [name for name in every if name in set(columns)]
    in_files = [name for name in chosen if name not in keys]
    needed = dict.fromkeys([*in_files, *(given.column for given in of_rows)])
    types = dict(schemas.types(needed))
    result_types = {name: keys[name] if name in keys else types[name] for name in chosen}
    return ReadingPlan(partitions, types, result_types, expression(of_rows, types))


def _check_column(name: str, names: Sequence[str]) -> None:
    """Refuse a column that the table lacks."""
    if name not in names:
        raise ExplainError(Reason.MISSING_COLUMN, f"the table has no column {name!r}", "table")


def _width(kind: pa.DataType) -> int:
    """Return bits that a value takes at least."""
    if pa.types.is_null(kind) or pa.types.is_nested(kind):
        return 0
    try:
        bits: int = kind.bit_width
    except ValueError:
        return 32
    return bits
