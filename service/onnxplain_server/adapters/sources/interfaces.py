"""Seam between fetching and reading tables: files by ranges in, an Arrow table out.

A table reader sees files through `FileReader` only: it knows no URI, no store and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO, Protocol

from onnxplain_server.adapters.sources.canonical_uri import CanonicalUri


class TableFormat(Enum):
    """Format of a table's files; values are the names of the contract's forms."""

    ARROW = "arrow"
    PARQUET = "parquet"
    CSV = "csv"


class FilterComparison(Enum):
    """Comparison of a column's values with those of a filter."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Condition on one column; a row with a missing value meets none.

    Attributes
    ----------
    column : str
        Column of the files, or key of a partition.
    comparison : FilterComparison
    values : tuple of str
        At least one, as text; read as the column's type (number, boolean, date, time, text).
        EQUAL: one of them; NOT_EQUAL: none of them; others take exactly one.
    """

    column: str
    comparison: FilterComparison
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Object as it was found.

    Attributes
    ----------
    uri : CanonicalUri
    byte_count : int
    version : str
        ETag; without one, the time of its last change.
    etag : str or None
        ETag that tells each byte; None where the store sends none, or a weak one.
    """

    uri: CanonicalUri
    byte_count: int
    version: str
    etag: str | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """File of a table, as it was found: its content is that of one version.

    Attributes
    ----------
    uri : str
        For messages; without secrets.
    path : str
        Path below the URI that the request names, like "year=2026/part-0.parquet"; hive's
        partitions are read from it. The file's name alone where the request names the file.
    byte_count : int
    index : int
        Position among the request's files.
    """

    uri: str
    path: str
    byte_count: int
    index: int


class FileReader(Protocol):
    """Reader of ranges of files, each of one version: never a mix of two."""

    @property
    def files(self) -> Sequence[SourceFile]:
        """All files of the table, in the order of their rows; at least one."""

    def read(
        self, file: SourceFile, ranges: Sequence[tuple[int, int]]
    ) -> Sequence[bytes | memoryview]:
        """Read ranges of a file, all at once; may be called from several threads.

        Parameters
        ----------
        file : SourceFile
        ranges : sequence of (start, length)
            Within the file; neighbours may be joined to one request by the implementation.

        Returns
        -------
        sequence of bytes-like
            One for each range, of its length.

        Raises
        ------
        ExplainError
            SOURCE_CHANGED if the file has another version by now; SOURCE_UNAVAILABLE and others.
        """


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Format, filters and limit of a table that is read.

    Attributes
    ----------
    table_format : TableFormat or None
        Of all files; None: by the ending of each name (.parquet, .arrow, .feather, .ipc, .csv),
        and refused with INVALID_REQUEST where it does not tell, or the files differ.
    filters : tuple of TableFilter
        All hold for each row that is read.
    byte_limit : int
        Largest size of the result, and of what is held at once on the way.
    """

    table_format: TableFormat | None
    filters: tuple[TableFilter, ...]
    byte_limit: int


class SourceTable(Protocol):
    """Table whose column names are known, and whose rows are not read yet.

    `table_reader.open_table(reader: FileReader, query: TableQuery) -> SourceTable` makes one.
    """

    @property
    def column_names(self) -> Sequence[str]:
        """Names of all columns in their order, keys of partitions last."""

    def read(self, columns: Sequence[str] | None, sink: BinaryIO, texts: Sequence[str] = ()) -> int:
        """Write the rows that meet the filters as an Arrow IPC stream; return their number.

        Parameters
        ----------
        columns : sequence of str or None
            Columns to read, of `column_names`; written in the order of `column_names`. None: all.
        sink : file
            Opened for writing.
        texts : sequence of str
            Columns that are text as it stands in CSV, or in the names of folders.

        Raises
        ------
        ExplainError
            INVALID_TABLE (unreadable, or files that do not fit together), MISSING_COLUMN (a
            filter's), TABLE_TOO_LARGE with the size and the limit, and those of the reader.
        """
