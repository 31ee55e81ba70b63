"""Conversion of tables to the contract's Table; all but files are sent as Arrow IPC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from onnxplain.table_files import from_bytes
from onnxplain.transport.uploads import TableRef
from onnxplain.uris import TableUris, is_uri
from onnxplain.v1.table_pb2 import Table


def to_table(table: Any, feature_columns: Sequence[str] = ()) -> Table:
    """Write a table as a message.

    Parameters
    ----------
    table : path, URI, bytes, frame, mapping, array, TableUris, TableRef or Table
        A text that begins like "s3://" is the address of a file or a folder that the server reads.
        A path or the bytes of a CSV, Parquet or Arrow IPC file (detected by
        content; gzipped or not); a pandas or polars frame, Arrow table, or anything else with
        `__arrow_c_stream__`; a LazyFrame of polars, which is collected; a mapping of column name
        to values; a 2-D array, of which what numpy.ma masks is missing; a TableRef; or a message,
        which is returned as it is. The index of a pandas frame is left out.
    feature_columns : sequence of str
        Names for the columns of a 2-D array. Default: "f0", "f1", ...

    Raises
    ------
    OSError
        Where the file cannot be read.
    TypeError, ValueError
        Where `table` is none of the above, or cannot be written as Arrow.
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, TableUris) or (isinstance(table, str) and is_uri(table)):
        return (table if isinstance(table, TableUris) else TableUris(table)).to_message()
    if isinstance(table, TableRef):
        return Table(id=table.id)
    if isinstance(table, str | os.PathLike):
        return from_bytes(Path(table).read_bytes())
    if isinstance(table, bytes | bytearray | memoryview):
        return from_bytes(bytes(table))
    return Table(arrow=_stream(arrow_of(table, feature_columns)))


def arrow_of(table: Any, feature_columns: Sequence[str] = ()) -> pa.Table:
    """Read a table of this process as Arrow's; TypeError, ValueError."""
    if isinstance(table, pa.Table):
        return table
    if _is_pandas(table):
        # Its own Arrow export would add the index as a column.
        return pa.Table.from_pandas(table, preserve_index=False)
    if _is_lazy(table):
        return arrow_of(table.collect(), feature_columns)
    if hasattr(table, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(table).read_all()
    if isinstance(table, Mapping):
        return pa.table({str(name): _column(values) for name, values in table.items()})
    if hasattr(table, "__array__"):
        # A plain array of a masked one has the values that the mask hides.
        rows = table if np.ma.isMaskedArray(table) else np.asarray(table)
        return _from_array(rows, feature_columns)
    raise TypeError(
        f"cannot read a table from {type(table).__name__}: give a path, a URI, a pandas or polars "
        "frame, an Arrow table, a mapping of column name to values, or a 2-D array; the model "
        "comes first, then the table"
    )


def _is_lazy(table: Any) -> bool:
    """Tell whether it is a LazyFrame of polars, which holds a plan and no rows."""
    kind = type(table)
    return kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "LazyFrame"


def _is_pandas(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pandas"


def _from_array(rows: np.ndarray[Any, Any], feature_columns: Sequence[str]) -> pa.Table:
    """Name the columns of a matrix: (n_rows, n_columns)."""
    if rows.ndim != 2:
        raise ValueError(f"an array must have two dimensions, rows and columns, not {rows.ndim}")
    names = list(feature_columns) or [f"f{index}" for index in range(rows.shape[1])]
    if len(names) != rows.shape[1]:
        raise ValueError(
            f"feature_columns names {len(names)} columns, but the array has {rows.shape[1]}"
        )
    return pa.table([_column(column) for column in rows.T], names=names)


def _column(values: Any) -> pa.Array:
    """Write one column; Arrow takes numbers in the byte order of this machine only."""
    if isinstance(values, np.ndarray) and not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return pa.array(values)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
