"""Reader of tables: Arrow, Parquet, CSV, columns, or an uploaded file, as `Table`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from google.protobuf.message import DecodeError
from onnxplain.v1 import table_pb2

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.columns import NamedColumns
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import NO_BLOBS, Blobs
from onnxplain_server.core.messages.file_kinds import ARROW, CSV, ONNX, PARQUET, Role, file_kind
from onnxplain_server.core.table import Table, listed
from onnxplain_server.wire.arrow_columns import UnreadableError, read_column
from onnxplain_server.wire.blobs import find
from onnxplain_server.wire.csv_table import CsvTexts, parse_csv
from onnxplain_server.wire.message_fields import add_numbers


def read(message: table_pb2.Table, blobs: Blobs = NO_BLOBS) -> Table:
    """Read a table.

    Raises
    ------
    ExplainError
        INVALID_REQUEST without a table, BLOB_NOT_FOUND, INVALID_TABLE, EMPTY_TABLE,
        OUT_OF_MEMORY.
    """
    with _within_memory():
        return _read(message, blobs)


def read_file(form: str, content: bytes | memoryview) -> Table:
    """Read a file of a table, "arrow", "parquet" or "csv"; errors are those of `read`."""
    with _within_memory():
        return _from_file(form, content, f"table.{form}")


@contextmanager
def _within_memory() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        # Files are compressed: a small file may hold billions of cells.
        raise ExplainError(
            Reason.OUT_OF_MEMORY,
            "the table needs more memory than there is for one request; send fewer rows or columns",
            "table",
        ) from None


def _read(message: table_pb2.Table, blobs: Blobs) -> Table:
    source = message.WhichOneof("source")
    match source:
        case None:
            raise ExplainError(
                Reason.INVALID_REQUEST,
                "no table: give it as arrow, parquet, csv or columns, or an uploaded one as id",
                "table",
            )
        case "columns":
            return from_columns(message.columns.columns)
        case "id":
            blob = find(blobs, "table", message.id)
            if blob.form == "columns":
                return from_columns(_columns(blob.content))
            return _from_file(blob.form, memoryview(blob.content), blob.field or "table.id")
        case _:
            return _from_file(source, getattr(message, source), f"table.{source}")


def _from_file(form: str, content: bytes | memoryview, path: str) -> Table:
    table = from_arrow(_parse(form, content, path))
    return replace(table, texts=CsvTexts(content)) if form == "csv" else table


def parsed(message: table_pb2.Table) -> pa.Table:
    """Read the file of a table as Arrow's; INVALID_TABLE."""
    form = str(message.WhichOneof("source"))
    return _parse(form, getattr(message, form), f"table.{form}")


def content(message: table_pb2.Table) -> bytes:
    """Return the bytes of a table as sent, whose `identify` is its id if it were uploaded."""
    source = message.WhichOneof("source")
    if source is None:
        return b""
    value = getattr(message, source)
    if source == "columns":
        value = value.SerializeToString(deterministic=True)
    return bytes(value)


def _columns(content: bytes | bytearray) -> Sequence[table_pb2.Column]:
    try:
        return table_pb2.Columns.FromString(bytes(content)).columns
    except DecodeError:
        raise ExplainError(
            Reason.INVALID_REQUEST, "the columns cannot be decoded", "table.columns"
        ) from None


def _parse(source: str, content: bytes | memoryview, path: str) -> pa.Table:
    parsers: dict[str, Callable[[bytes | memoryview], pa.Table]] = {
        "arrow": _parse_ipc,
        "parquet": _parse_parquet,
        "csv": lambda content: parse_csv(bytes(content)),
    }
    _check_kind(source, content, path)
    try:
        table = parsers[source](content)
        # Arrow trusts offsets in files; malicious ones would read other memory.
        table.validate(full=True)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        cause = str(error).partition("\n")[0][:200]
        if isinstance(error, UnicodeDecodeError):
            cause = "its text is neither UTF-8, nor UTF-16 with a byte order mark; save it as UTF-8"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"the table cannot be read as {source}: {cause}",
            path,
        ) from None
    return table


def _check_kind(source: str, content: bytes | memoryview, path: str) -> None:
    """Refuse a file that is clearly of another kind, in place of a parser's words about it."""
    kind, start = file_kind(content), bytes(content[:_LOOKED_AT])
    if kind is None or kind is _OWN_KINDS[source]:
        return
    if source == "csv" and b"\0" not in start and start[0] >= ord("\t"):
        return  # text, whose first name may look like another file's mark
    if kind.role is Role.MODEL:
        advice = "model and table may be swapped: the model comes first"
        if kind is not ONNX:
            advice = "give the rows as CSV, Parquet or Arrow"
    elif kind in _FORMS:
        advice = f"send it as {_FORMS[kind]}"
    else:
        advice = "save it as CSV or Parquet"
    message = f"the table cannot be read as {source}: it is {kind.words}; {advice}"
    raise ExplainError(Reason.INVALID_TABLE, message, path)


_FORMS = {ARROW: "arrow", PARQUET: "parquet", CSV: "csv"}
_OWN_KINDS = {"arrow": ARROW, "parquet": PARQUET, "csv": CSV}
_LOOKED_AT = 4_096


def _parse_parquet(content: bytes | memoryview) -> pa.Table:
    from pyarrow.parquet import ParquetFile

    return ParquetFile(pa.BufferReader(content)).read()


def _parse_ipc(content: bytes | memoryview) -> pa.Table:
    buffer = pa.BufferReader(content)
    is_file = content[:6] == b"ARROW1"
    reader = pyarrow.ipc.open_file(buffer) if is_file else pyarrow.ipc.open_stream(buffer)
    return reader.read_all()


def from_columns(columns: Sequence[table_pb2.Column], path: str = "table.columns") -> Table:
    """Read columns as a table; INVALID_TABLE with the path where they are none."""
    lengths = {len(c.numbers) or len(c.strings) for c in columns}
    mixed = tuple(c.name for c in columns if c.numbers and c.strings)
    if mixed or len(lengths) > 1:
        fault = f"{listed(mixed)} has both numbers and strings" if mixed else "lengths differ"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"columns must be of one length, each of numbers or of strings; {fault}",
            path,
        )
    _check_names([column.name for column in columns], path)
    return Table(
        {column.name: from_column(column) for column in columns}, lengths.pop() if lengths else 0
    )


def from_column(column: table_pb2.Column) -> Array:
    """Return the values of a column: float64, or str objects."""
    if column.strings:
        return np.array(column.strings, dtype=object)
    return np.array(column.numbers, dtype=np.float64)


def to_columns(names: Sequence[str], arrays: Sequence[Array]) -> list[table_pb2.Column]:
    """Write arrays of numbers or text as columns."""
    return [_to_column(*column) for column in zip(names, arrays, strict=True)]


def _to_column(name: str, values: Array) -> table_pb2.Column:
    column = table_pb2.Column(name=name)
    if values.dtype == object:
        column.strings.extend(values)
    else:
        add_numbers(column, "numbers", values)
    return column


def from_arrow(table: pa.Table) -> Table:
    """Read the columns of an Arrow table; INVALID_TABLE where names are missing or repeated."""
    _check_names(table.column_names, "table")
    columns: dict[str, Array] = {}
    unreadable: dict[str, str] = {}
    singles = iter(_memory_of_singles(table))
    for name, chunks in zip(table.column_names, table.columns, strict=True):
        try:
            columns[name] = read_column(chunks, singles)
        except UnreadableError as error:
            unreadable[name] = str(error)
    durations = tuple(f.name for f in table.schema if pa.types.is_duration(f.type))
    order = tuple(table.column_names)
    return Table(
        NamedColumns(columns), table.num_rows, unreadable, durations=durations, order=order
    )


def _memory_of_singles(table: pa.Table) -> Array:
    """Allocate the columns of float32 at once, as large pages take less time than small ones."""
    count = sum(map(pa.types.is_float32, table.schema.types))
    return np.empty((count, table.num_rows), dtype=np.float32)


def _check_names(names: Sequence[str], path: str) -> None:
    duplicates = tuple(sorted(name for name, count in Counter(names).items() if count > 1))
    if duplicates or not names:
        fault = f"{listed(duplicates)} more than once" if duplicates else "there are none"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"columns need names, all different: {fault}",
            path,
        )
