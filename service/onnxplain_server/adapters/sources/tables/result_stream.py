"""Rows of a table as they are found, written as an Arrow IPC stream within a limit of bytes."""

from __future__ import annotations

from typing import BinaryIO

import pyarrow as pa
import pyarrow.ipc

from onnxplain_server.adapters.sources.tables.failures import size, too_large


class ResultStream:
    """Writer of a result; a context manager.

    Parameters
    ----------
    sink : file
    schema : Schema
    byte_limit : int
    source_row_count : int or None
        Rows that are looked at, where that is known before.
    """

    def __init__(
        self, sink: BinaryIO, schema: pa.Schema, byte_limit: int, source_row_count: int | None
    ) -> None:
        self._byte_limit, self._source_row_count = byte_limit, source_row_count
        self._byte_count = self._looked_at = 0
        self.row_count = 0
        self._writer = pyarrow.ipc.new_stream(pa.PythonFile(sink, mode="w"), schema)

    def __enter__(self) -> ResultStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._writer.close()

    def write(self, table: pa.Table, looked_at: int) -> None:
        """Append rows, found among some that were looked at.

        Raises
        ------
        ExplainError
            TABLE_TOO_LARGE, with an estimate of the whole where the number of rows is known.
        """
        self._byte_count += table.nbytes
        self._looked_at += looked_at
        if self._byte_count > self._byte_limit:
            raise too_large(self._found(), self._byte_limit)
        self.row_count += table.num_rows
        if table.num_rows:
            self._writer.write_table(table)

    def _found(self) -> str:
        share = self._looked_at / self._source_row_count if self._source_row_count else 0.0
        if not 0 < share < 1:
            return f"the table has {size(self._byte_count)} or more"
        return (
            f"the table has about {size(self._byte_count / share)}, by its first "
            f"{self._looked_at} of {self._source_row_count} rows"
        )
