"""Files of a table, by a query: those whose folders meet its filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from onnxplain_server.adapters.sources.interfaces import (
    FileReader,
    SourceFile,
    TableFilter,
    TableQuery,
)
from onnxplain_server.adapters.sources.tables.partitions import Partitions, partitions
from onnxplain_server.adapters.sources.tables.row_filter import expression


@dataclass(frozen=True)
class Selection:
    """Files that a table is read from.

    Attributes
    ----------
    files : sequence of SourceFile
        Those whose keys meet the filters on keys.
    described : sequence of SourceFile
        Those that tell the columns: the same, or the first of all where none is left.
    """

    reader: FileReader
    partitions: Partitions
    files: Sequence[SourceFile]
    described: Sequence[SourceFile]
    filters: Sequence[TableFilter]
    byte_limit: int


def select(reader: FileReader, query: TableQuery) -> Selection:
    """Choose the files of a query.

    Raises
    ------
    ExplainError
        INVALID_TABLE, INVALID_REQUEST.
    """
    keys = partitions(reader.files)
    files = _chosen(reader.files, keys, query.filters)
    described = files or reader.files[:1]
    return Selection(reader, keys, files, described, query.filters, query.byte_limit)


def _chosen(
    files: Sequence[SourceFile], keys: Partitions, filters: Sequence[TableFilter]
) -> Sequence[SourceFile]:
    of_keys = [given for given in filters if given.column in keys.types]
    if (condition := expression(of_keys, keys.types)) is None:
        return files
    rows = {
        key: pa.array([keys.values[file.index][key] for file in files], kind)
        for key, kind in keys.types.items()
    }
    # No key is empty, so that this name is free.
    positions = pa.table({**rows, "": range(len(files))}).filter(condition).column("")
    return [files[position] for position in positions.to_pylist()]
