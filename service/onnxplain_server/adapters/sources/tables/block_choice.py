"""Choice of tables that are read in blocks, while they are explained, and not fetched before."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.adapters.sources.interfaces import SourceTable
from onnxplain_server.adapters.sources.tables.parquet_table import ParquetTable
from onnxplain_server.core.memory import cells_bytes


def columns_in_blocks(
    table: SourceTable, columns: Sequence[str] | None, memory_bytes: int
) -> tuple[str, ...] | None:
    """Return the columns of a table that is read in blocks; None for one that is fetched.

    Parameters
    ----------
    table : SourceTable
    columns : sequence of str or None
        Those that are needed; None: all.
    memory_bytes : int
        A table is read in blocks if it would need more; 0: none is.
    """
    if not (memory_bytes and isinstance(table, ParquetTable) and table.is_plain):
        return None
    names = tuple(table.column_names if columns is None else columns)
    return names if cells_bytes(table.row_count * len(names)) > memory_bytes else None
