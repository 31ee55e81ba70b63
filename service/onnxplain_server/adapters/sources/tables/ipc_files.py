"""Arrow IPC, read from its start: a file is a stream with a footer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import pyarrow as pa
import pyarrow.ipc

from onnxplain_server.adapters.sources.interfaces import SourceFile
from onnxplain_server.adapters.sources.tables.failures import reading
from onnxplain_server.adapters.sources.tables.file_schemas import FileSchemas
from onnxplain_server.adapters.sources.tables.prefetch import Prefetch
from onnxplain_server.adapters.sources.tables.reading_plan import ReadingPlan, plan
from onnxplain_server.adapters.sources.tables.result_stream import ResultStream
from onnxplain_server.adapters.sources.tables.selection import Selection
from onnxplain_server.adapters.sources.tables.sequential_file import (
    SequentialFile,
    head_of,
    whole_of,
)

_MAGIC = b"ARROW1\0\0"


class IpcTable:
    """Table of Arrow files, whose schemas are read."""

    def __init__(self, chosen: Selection) -> None:
        self._chosen = chosen
        with Prefetch(chosen.reader) as fetch:
            schemas = fetch.map(self._schema, chosen.described)
        self._schemas = FileSchemas(zip(chosen.described, schemas, strict=True))
        self._partitions = chosen.partitions.without(self._schemas.names)

    @property
    def column_names(self) -> Sequence[str]:
        return [*self._schemas.names, *self._partitions.types]

    def read(self, columns: Sequence[str] | None, sink: BinaryIO, texts: Sequence[str] = ()) -> int:
        keys = self._partitions.with_texts(texts)
        what = plan(self._schemas, keys, self._chosen.filters, columns)
        with (
            Prefetch(self._chosen.reader) as fetch,
            ResultStream(sink, what.schema, self._chosen.byte_limit, None) as result,
        ):
            for file in self._chosen.files:
                self._read_file(fetch, file, what, result)
        return result.row_count

    def _read_file(
        self, fetch: Prefetch, file: SourceFile, what: ReadingPlan, result: ResultStream
    ) -> None:
        with reading(file, "Arrow IPC"):
            names = self._schema(file).names
            # An empty list would mean all; the first tells the number of rows.
            fields = [names.index(name) for name in what.file_types] or [0]
            options = pyarrow.ipc.IpcReadOptions(included_fields=fields)
            content = whole_of(fetch, file, self._chosen.byte_limit)
            for batch in _open(content, options):
                # Arrow trusts offsets in files; malicious ones would read other memory.
                batch.validate(full=True)
                rows = what.finish(pa.Table.from_batches([batch]), file, batch.num_rows)
                result.write(rows, batch.num_rows)

    def _schema(self, file: SourceFile) -> pa.Schema:
        with reading(file, "Arrow IPC"):
            return _open(head_of(self._chosen.reader, file, self._chosen.byte_limit)).schema


def _open(
    content: SequentialFile, options: pyarrow.ipc.IpcReadOptions | None = None
) -> pyarrow.ipc.RecordBatchStreamReader:
    """Open a stream, or the stream that a file has between its magic bytes and its footer."""
    start = bytes(content.read(len(_MAGIC)))
    if start != _MAGIC:
        content.unread(start)
    return pyarrow.ipc.open_stream(pa.PythonFile(content, mode="r"), options=options)
