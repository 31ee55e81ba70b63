"""Expected predictions from a file of their own, as columns beside those of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table as ReadTable
from onnxplain_server.core.table import listed
from onnxplain_server.wire import csv_table, table

FILE = "against"
"""Place of errors about the file."""
_FLAG = "--against"
_COLUMNS = "expected_prediction_columns"
_ROW = "row"
"""Column of row numbers, as `onnxplain predict --output csv` writes it."""
_BYTES = "latin-1"
"""Encoding that has a character for each byte, so that cells of any encoding stay as they are."""
_LONGEST_CELL = 2**31 - 1


def beside(rows: Table, expected: Table, names: Sequence[str]) -> tuple[Table, list[str]]:
    """Return a table with the expected predictions, and the names of their columns in it.

    Parameters
    ----------
    rows, expected : Table
        Files that were read.
    names : sequence of str
        Columns of `expected`; empty: all, but for one of row numbers and one without a name.

    Raises
    ------
    UsageFault
        For a table at an address, another number of rows, or other rows.
    ExplainError
        Those of tables; at `FILE`, those of the file of expected predictions.
    """
    for each, called in ((rows, "TABLE"), (expected, _FLAG)):
        if each.HasField("uris"):
            raise UsageFault(
                f"{called} is an address: {_FLAG} takes a file, beside a TABLE that is one. Or put "
                "the predictions into TABLE, and name them by --expected-prediction-columns",
                _FLAG,
            )
    columns = _columns(_read(expected), names)
    read = table.parsed(rows)
    for name, column in columns.items():
        _check_count(name, len(column), read.num_rows)
    added = _unused([*columns], read.column_names)
    values = [*columns.values()]
    if rows.HasField("csv"):
        return Table(csv=_csv_beside(rows.csv, read.num_rows, added, values)), added
    return Table(arrow=_arrow_beside(read, added, values)), added


def _read(expected: Table) -> ReadTable:
    try:
        return table.read(expected)
    except ExplainError as error:
        raise ExplainError(error.reason, error.message, FILE) from None


def _columns(given: ReadTable, names: Sequence[str]) -> dict[str, Array]:
    """Return the columns of expected predictions, of all rows."""
    chosen = names or [name for name in given.present if name not in {"", _ROW}]
    if not chosen:
        raise ExplainError(
            Reason.MISSING_COLUMN, f"{_FLAG} has no column of predictions beside {_ROW!r}", FILE
        )
    missing = [name for name in chosen if name not in given.present]
    if missing:
        raise ExplainError(
            Reason.MISSING_COLUMN,
            f"{_FLAG} has no column {missing[0]!r}; it has {listed(given.present)}",
            _COLUMNS,
        )
    if _ROW in given.columns and not np.array_equal(
        given.column(_ROW), np.arange(given.n_rows, dtype=np.float64)
    ):
        raise UsageFault(
            f"the column {_ROW!r} of {_FLAG} does not count 0, 1, 2, ...: give a prediction for "
            "each row of TABLE, in its order",
            _FLAG,
        )
    return {name: given.column(name, _COLUMNS) for name in chosen}


def _csv_beside(
    content: bytes, row_count: int, names: Sequence[str], columns: Sequence[Array]
) -> bytes:
    """Add columns to CSV, whose other cells stay as they stand."""
    text = csv_table.as_utf_8(content)
    text = text[csv_table.separator_line_size(text) :].removeprefix(b"\xef\xbb\xbf")
    separator, point = csv_table.separator_of(text), csv_table.decimal_point_of(text)
    lines = _lines(text.decode(_BYTES), separator)
    if len(lines) != row_count + 1:
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"{_FLAG} cannot tell the lines of TABLE apart: {len(lines):,} in place of "
            f"{row_count + 1:,}; save TABLE as Parquet",
            "table",
        )
    headers = [name.encode().decode(_BYTES) for name in names]
    cells = [_cells(column, point) for column in columns]
    added = [headers, *zip(*cells, strict=True)]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\r\n")
    writer.writerows([*line, *more] for line, more in zip(lines, added, strict=True))
    return file.getvalue().encode(_BYTES)


def _lines(text: str, separator: str) -> list[list[str]]:
    """Split CSV into cells, of any length; lines without any cell are left out."""
    limit = csv.field_size_limit(min(max(len(text), 1), _LONGEST_CELL))
    try:
        return [
            line for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if line
        ]
    finally:
        csv.field_size_limit(limit)


def _cells(column: Array, point: str) -> list[str]:
    if column.dtype == object:
        return [str(value).encode().decode(_BYTES) for value in column]
    return ["" if np.isnan(v) else repr(v).replace(".", point) for v in column.tolist()]


def _arrow_beside(read: pa.Table, names: Sequence[str], columns: Sequence[Array]) -> bytes:
    """Add columns to a table with types."""
    for name, column in zip(names, columns, strict=True):
        read = read.append_column(name, pa.array(column))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, read.schema) as writer:
        writer.write_table(read)
    return bytes(sink.getvalue().to_pybytes())


def _check_count(name: str, count: int, row_count: int) -> None:
    if count != row_count:
        raise UsageFault(
            f"{name!r} has {count:,} row{'s' * (count != 1)}, and TABLE has {row_count:,}: give "
            "one prediction for each row, in its order",
            _FLAG,
        )


def _unused(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return names that the table does not have yet."""
    found: list[str] = []
    for name in names:
        unused = name
        while unused in {*others, *found}:
            unused = f"expected {unused}"
        found.append(unused)
    return found
