"""Tables of files that are read by ranges; the format is given, or told by the files' names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from onnxplain_server.adapters.sources.interfaces import (
    FileReader,
    SourceFile,
    SourceTable,
    TableFormat,
    TableQuery,
)
from onnxplain_server.adapters.sources.tables.csv_files import CsvTable
from onnxplain_server.adapters.sources.tables.ipc_files import IpcTable
from onnxplain_server.adapters.sources.tables.parquet_table import ParquetTable
from onnxplain_server.adapters.sources.tables.selection import Selection, select
from onnxplain_server.core.errors import ExplainError, Reason

_ENDINGS = {
    ".parquet": TableFormat.PARQUET,
    ".arrow": TableFormat.ARROW,
    ".feather": TableFormat.ARROW,
    ".ipc": TableFormat.ARROW,
    ".csv": TableFormat.CSV,
}

_TABLES: dict[TableFormat, Callable[[Selection], SourceTable]] = {
    TableFormat.PARQUET: ParquetTable,
    TableFormat.ARROW: IpcTable,
    TableFormat.CSV: CsvTable,
}


def open_table(reader: FileReader, query: TableQuery) -> SourceTable:
    """Read what tells the columns of a table: footers, schemas, header rows.

    Files whose folders do not meet the filters are not read; of none at all, the first one tells
    the columns.

    Raises
    ------
    ExplainError
        INVALID_REQUEST, INVALID_TABLE, TABLE_TOO_LARGE, OUT_OF_MEMORY, and those of the reader.
    """
    table_format = query.table_format or _told(reader.files)
    return _TABLES[table_format](select(reader, query))


def _told(files: Sequence[SourceFile]) -> TableFormat:
    """Return the format that the names of all files tell."""
    endings = {PurePosixPath(file.path).suffix.lower(): file for file in files}
    unknown = [file for ending, file in endings.items() if ending not in _ENDINGS]
    if unknown:
        raise _untold(f"{unknown[0].uri} ends with none of {', '.join(_ENDINGS)}")
    formats = {_ENDINGS[ending]: file for ending, file in endings.items()}
    if len(formats) > 1:
        first, other, *_ = formats.values()
        raise _untold(f"{first.uri} and {other.uri} differ")
    return formats.popitem()[0]


def _untold(cause: str) -> ExplainError:
    return ExplainError(
        Reason.INVALID_REQUEST,
        f"the names of the files do not tell the table's format: {cause}; name the format",
        "table",
    )
