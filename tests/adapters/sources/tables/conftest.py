"""Tables in memory, and what is read of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from onnxplain_server.adapters.sources.interfaces import (
    FileReader,
    FilterComparison,
    TableFilter,
    TableFormat,
    TableQuery,
)
from onnxplain_server.adapters.sources.table_reader import open_table

from tools.stores.readers import MemoryReader


def parquet(table: pa.Table, **options) -> bytes:
    """Write a table as a Parquet file."""
    content = io.BytesIO()
    pq.write_table(table, content, **options)
    return content.getvalue()


def arrow(table: pa.Table, rows: int = 7, *, stream: bool = False) -> bytes:
    """Write a table as an Arrow file or stream, in batches of so many rows."""
    content = io.BytesIO()
    make = pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file
    with make(content, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return content.getvalue()


def csv(table: pa.Table) -> bytes:
    """Write a table as CSV."""
    content = io.BytesIO()
    pyarrow.csv.write_csv(table, content)
    return content.getvalue()


def read_of(
    reader: FileReader,
    columns: Sequence[str] | None = None,
    filters: Sequence[tuple[str, str, str]] = (),
    *,
    table_format: TableFormat | None = None,
    byte_limit: int = 1 << 30,
    texts: Sequence[str] = (),
) -> pa.Table:
    """Read a table; each filter is (column, comparison, values that commas separate)."""
    given = tuple(
        TableFilter(c, FilterComparison(how), tuple(v.split(","))) for c, how, v in filters
    )
    opened = open_table(reader, TableQuery(table_format, given, byte_limit))
    sink = io.BytesIO()
    row_count = opened.read(columns, sink, texts)
    table = pyarrow.ipc.open_stream(sink.getvalue()).read_all()
    assert table.num_rows == row_count or not table.num_columns
    return table


class Files:
    """How tests write and read files."""

    parquet = staticmethod(parquet)
    arrow = staticmethod(arrow)
    csv = staticmethod(csv)
    read_of = staticmethod(read_of)

    def reader(self, contents: Mapping[str, bytes]) -> MemoryReader:
        return MemoryReader(contents)

    def read(self, contents: Mapping[str, bytes], *arguments, **options) -> pa.Table:
        return read_of(MemoryReader(contents), *arguments, **options)


@pytest.fixture(scope="session")
def files() -> Files:
    """Writers and readers of files."""
    return Files()


@pytest.fixture(scope="session")
def write() -> Mapping[str, Callable[[pa.Table], bytes]]:
    """Writers by the ending of a file's name, which the sources know."""
    return {"parquet": parquet, "arrow": arrow, "csv": csv}
