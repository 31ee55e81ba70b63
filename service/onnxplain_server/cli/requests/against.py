"""Expected predictions from a file of their own, as columns beside those of a table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.core.arrays import Array
from onnxplain_server.wire import csv_table, table

_FLAG = "--against"
_ROW = "row"
"""Column of row numbers, as `onnxplain predict --output csv` writes it."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


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
        Those of tables.
    """
    if not (rows.csv or rows.arrow or rows.parquet) or not table.content(expected):
        raise UsageFault(f"{_FLAG} takes files, and a TABLE that is one", _FLAG)
    given = table.read(expected)
    chosen = names or [name for name in given.present if name not in {"", _ROW}]
    columns = {name: given.column(name, "expected_prediction_columns") for name in chosen}
    if _ROW in given.columns and not np.array_equal(
        given.column(_ROW), np.arange(given.n_rows, dtype=np.float64)
    ):
        raise UsageFault(
            f"the column {_ROW!r} of {_FLAG} does not count 0, 1, 2, ...: give a prediction for "
            "each row of TABLE, in its order",
            _FLAG,
        )
    if rows.csv:
        return _csv_beside(rows.csv, columns)
    return _arrow_beside(rows, columns)


def _csv_beside(content: bytes, columns: dict[str, Array]) -> tuple[Table, list[str]]:
    """Add columns to CSV, whose other cells stay as they stand."""
    text = csv_table.as_utf_8(content)
    text = text[csv_table.separator_line_size(text) :].removeprefix(b"\xef\xbb\xbf")
    separator = csv_table.separator_of(text)
    lines = list(csv.reader(io.StringIO(text.decode(), newline=""), delimiter=separator))
    lines = [line for line in lines if line]
    names = _unused(columns, lines[0] if lines else [])
    _check_count(columns, len(lines) - 1)
    has_commas = separator == ";" and any(
        _DECIMAL_COMMA.fullmatch(cell) for line in lines for cell in line
    )
    cells = [_texts(column, "," if has_commas else ".") for column in columns.values()]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    added = [names, *zip(*cells, strict=True)]
    writer.writerows([*line, *more] for line, more in zip(lines, added, strict=True))
    return Table(csv=file.getvalue().encode()), names


def _texts(column: Array, point: str) -> list[str]:
    if column.dtype == object:
        return [str(value) for value in column]
    return ["" if np.isnan(v) else repr(v).replace(".", point) for v in column.tolist()]


def _arrow_beside(rows: Table, columns: dict[str, Array]) -> tuple[Table, list[str]]:
    """Add columns to a table with types."""
    read = table.parsed(rows)
    names = _unused(columns, read.column_names)
    _check_count(columns, read.num_rows)
    for name, column in zip(names, columns.values(), strict=True):
        read = read.append_column(name, pa.array(column))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, read.schema) as writer:
        writer.write_table(read)
    return Table(arrow=sink.getvalue().to_pybytes()), names


def _check_count(columns: dict[str, Array], row_count: int) -> None:
    for name, column in columns.items():
        if len(column) != row_count:
            raise UsageFault(
                f"{name!r} has {len(column):,} rows, and TABLE has {row_count:,}: give one "
                "prediction for each row, in its order",
                _FLAG,
            )


def _unused(columns: dict[str, Array], others: Sequence[str]) -> list[str]:
    """Return names that the table does not have yet."""
    names: list[str] = []
    for name in columns:
        unused = name
        while unused in {*others, *names}:
            unused = f"expected {unused}"
        names.append(unused)
    return names
