"""CSV: header rows first, then whole files, one after the other, as types follow from all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import pyarrow as pa

from onnxplain_server.adapters.sources.interfaces import SourceFile
from onnxplain_server.adapters.sources.tables.failures import reading, size, too_large
from onnxplain_server.adapters.sources.tables.file_schemas import FileSchemas
from onnxplain_server.adapters.sources.tables.prefetch import Prefetch
from onnxplain_server.adapters.sources.tables.reading_plan import plan
from onnxplain_server.adapters.sources.tables.result_stream import ResultStream
from onnxplain_server.adapters.sources.tables.selection import Selection
from onnxplain_server.adapters.sources.tables.sequential_file import head_of, whole_of
from onnxplain_server.wire.csv_table import as_utf_8, header_names, parse_csv

_HEADER_BYTES = 64 << 10


class CsvTable:
    """Table of CSV files, whose header rows are read."""

    def __init__(self, chosen: Selection) -> None:
        self._chosen = chosen
        with Prefetch(chosen.reader) as fetch:
            headers = fetch.map(self._header, chosen.described)
        self._headers = FileSchemas(zip(chosen.described, headers, strict=True))
        self._partitions = chosen.partitions.without(self._headers.names)

    @property
    def column_names(self) -> Sequence[str]:
        return [*self._headers.names, *self._partitions.types]

    def read(self, columns: Sequence[str] | None, sink: BinaryIO, texts: Sequence[str] = ()) -> int:
        keys = self._partitions.with_texts(texts)
        untyped = plan(self._headers, keys, (), columns)
        of_filters = [given.column for given in self._chosen.filters]
        names = dict.fromkeys([*untyped.file_types, *of_filters])
        tables = self._parse([name for name in names if name in self._headers.names], texts)
        schemas = ((file, table.schema) for file, table in tables)
        found = FileSchemas(schemas, are_inferred=True) if tables else self._headers
        what = plan(found, keys, self._chosen.filters, list(untyped.result_types))
        with ResultStream(sink, what.schema, self._chosen.byte_limit, None) as result:
            for file, table in tables:
                with reading(file, "CSV"):
                    rows = what.finish(table, file, table.num_rows)
                result.write(rows, table.num_rows)
        return result.row_count

    def _parse(
        self, names: Sequence[str], texts: Sequence[str]
    ) -> list[tuple[SourceFile, pa.Table]]:
        """Parse columns of all files; the first one, where none is named, tells the rows."""
        limit = self._chosen.byte_limit
        tables: list[tuple[SourceFile, pa.Table]] = []
        byte_count = 0
        with Prefetch(self._chosen.reader) as fetch:
            for file in self._chosen.files:
                if file.byte_count > limit:
                    raise too_large(f"{file.uri} has {size(file.byte_count)}", limit)
                content = bytes(whole_of(fetch, file, limit).read())
                with reading(file, "CSV"):
                    table = parse_csv(content, names or self._headers.names[:1], texts)
                byte_count += table.nbytes
                if byte_count > limit:
                    raise too_large(f"the table has {size(byte_count)} or more", limit)
                tables.append((file, table))
        return tables

    def _header(self, file: SourceFile) -> pa.Schema:
        """Return the names of a file's columns; their types are not known yet."""
        content = b""
        head = head_of(self._chosen.reader, file, self._chosen.byte_limit)
        with reading(file, "CSV"):
            while (names := header_names(content)) is None:
                # Without a line break, the file is its header row.
                more = bytes(head.read(max(len(content), _HEADER_BYTES)))
                content = content if more else as_utf_8(content)
                content += more or b'"\n'[content.count(b'"') % 2 == 0 :]
            return pa.schema([(name, pa.null()) for name in names])
