"""Tables in the formats of the contract, to columns of numbers and strings."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
from onnxplain.v1 import table_pb2

from onnxplain_server.arrays import Array
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.table import Table, listed

_EXACT = 2**53


def read(message: table_pb2.Table) -> Table:
    """Read a table.

    Raises
    ------
    ExplainError
        INVALID_REQUEST where none is given, INVALID_TABLE, EMPTY_TABLE.
    """
    source = message.WhichOneof("source")
    if source is None:
        raise ExplainError(
            Reason.INVALID_REQUEST, "no table: give it as arrow, parquet, csv or columns", "table"
        )
    if source == "columns":
        return _from_columns(message.columns.columns)
    return _from_arrow(_parse(source, getattr(message, source)))


def content(message: table_pb2.Table) -> bytes:
    """Return the bytes that identify a table as it was sent."""
    source = message.WhichOneof("source")
    if source is None:
        return b""
    value = getattr(message, source)
    if source == "columns":
        value = value.SerializeToString(deterministic=True)
    return bytes(value)


def _parse(source: str, content: bytes) -> pa.Table:
    parsers: dict[str, Callable[[bytes], pa.Table]] = {
        "arrow": _parse_ipc,
        "parquet": lambda content: pyarrow.parquet.read_table(pa.BufferReader(content)),
        "csv": _parse_csv,
    }
    try:
        return parsers[source](content)
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        cause = str(error).splitlines()[0][:200]
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"the table cannot be read as {source}: {cause}",
            f"table.{source}",
        ) from None


def _parse_ipc(content: bytes) -> pa.Table:
    buffer = pa.BufferReader(content)
    is_file = content[:6] == b"ARROW1"
    reader = pyarrow.ipc.open_file(buffer) if is_file else pyarrow.ipc.open_stream(buffer)
    return reader.read_all()


def _parse_csv(content: bytes) -> pa.Table:
    header = content.removeprefix(b"\xef\xbb\xbf")
    options = pyarrow.csv.ConvertOptions(timestamp_parsers=[])
    return pyarrow.csv.read_csv(io.BytesIO(header), convert_options=options)


def _from_columns(columns: Sequence[table_pb2.Column]) -> Table:
    lengths = {len(c.numbers) or len(c.strings) for c in columns}
    both = tuple(c.name for c in columns if c.numbers and c.strings)
    if both or len(lengths) > 1:
        fault = f"{listed(both)} has both numbers and strings" if both else "lengths differ"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"columns must be of one length, each of numbers or of strings; {fault}",
            "table.columns",
        )
    _check_names([column.name for column in columns])
    return Table(
        {column.name: from_column(column) for column in columns}, lengths.pop() if lengths else 0
    )


def from_column(column: table_pb2.Column) -> Array:
    """Return the values of a column: float64, or str objects."""
    if column.strings:
        return np.array(column.strings, dtype=object)
    return np.array(column.numbers, dtype=np.float64)


def _from_arrow(table: pa.Table) -> Table:
    _check_names(table.column_names)
    columns: dict[str, Array] = {}
    unreadable: dict[str, str] = {}
    for name, chunks in zip(table.column_names, table.columns, strict=True):
        values = _values(_plain(chunks), name)
        if values is None:
            unreadable[name] = str(chunks.type)
        else:
            columns[name] = values
    return Table(columns, table.num_rows, unreadable)


def _plain(chunks: Any) -> Any:
    """Undo dictionary and run-end encoding."""
    if pa.types.is_dictionary(chunks.type):
        return chunks.cast(chunks.type.value_type)
    if pa.types.is_run_end_encoded(chunks.type):
        return pc.run_end_decode(chunks)
    return chunks


def _values(chunks: Any, name: str) -> Array | None:
    """Return numbers as float64 and text as str objects; None for other types."""
    kind = chunks.type
    if pa.types.is_temporal(kind):
        chunks, kind = chunks.cast(pa.string()), pa.string()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        texts: Array = pc.fill_null(chunks.cast(pa.string()), "").to_numpy()
        return texts.astype(object)
    if pa.types.is_integer(kind):
        _check_exact(chunks, name)
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not (numeric or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        return None
    plain = chunks.cast(pa.int8()) if pa.types.is_boolean(kind) else chunks
    numbers: Array = plain.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    return numbers


def _check_exact(chunks: Any, name: str) -> None:
    extremes = pc.min_max(chunks).as_py()
    if any(value is not None and abs(value) > _EXACT for value in extremes.values()):
        raise ExplainError(
            Reason.WRONG_TYPE,
            f"column {name!r} holds integers beyond 2^53, which would lose digits; give text",
            "table",
        )


def _check_names(names: Sequence[str]) -> None:
    twice = tuple(sorted({name for name in names if names.count(name) > 1}))
    if twice or not names:
        fault = f"{listed(twice)} more than once" if twice else "none"
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"columns need names, all different; the table has {fault}",
            "table",
        )
