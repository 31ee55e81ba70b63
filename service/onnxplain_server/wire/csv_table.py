"""CSV as an Arrow table: separator by the header row, decimal commas, times as text."""

from __future__ import annotations

import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Collection, Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from onnxplain_server.core.arrays import Array

UTF_16_MARKS = (BOM_UTF16_LE, BOM_UTF16_BE)

_QUOTED = re.compile(rb'"[^"]*"')
_SEPARATOR_LINE = re.compile(rb"\A(?:\xef\xbb\xbf)?sep=[,;\t]\r?\n")
_LINE = re.compile(rb'(?:[^"\n]|"[^"]*")*\n')
_DECIMAL_COMMA = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"


def parse_csv(
    content: bytes, columns: Sequence[str] | None = None, texts: Collection[str] = ()
) -> pa.Table:
    """Parse CSV; separators are commas, or semicolons or tabs if the header row has no comma.

    With semicolons, columns of numbers with decimal commas are numbers. Excel's first line "sep=;"
    is left out. UTF-16, as PowerShell writes it, is known by its byte order mark.

    Parameters
    ----------
    columns : sequence of str or None
        Columns to convert, in this order; None: all.
    texts : collection of str
        Columns that are text, whatever their values look like.

    Raises
    ------
    pa.ArrowException
    ValueError
        If some columns have decimal commas and others decimal points.
    """
    content = as_utf_8(content)
    content = content[separator_line_size(content) :]
    separator = separator_of(content)
    table = _read(content, separator, columns, texts)
    with_comma = _with_decimal_comma(table, separator, texts)
    if with_comma is None:
        return table
    again = _read(content, separator, columns, texts, decimal_point=",")
    check_decimal_points(table.schema, again.schema, with_comma)
    return again


def decimal_point_of(content: bytes) -> str:
    """Return the mark before decimals of numbers in CSV in UTF-8, without a line "sep=;"."""
    separator = separator_of(content)
    table = _read(content, separator, None, ())
    return "." if _with_decimal_comma(table, separator, ()) is None else ","


def _with_decimal_comma(table: pa.Table, separator: str, texts: Collection[str]) -> str | None:
    """Return the first column of numbers with decimal commas; None without one."""
    columns = zip(table.column_names, table.columns, strict=True) if separator == ";" else ()
    return next((n for n, each in columns if n not in texts and has_decimal_commas([each])), None)


class CsvTexts:
    """Columns of CSV as text, as they stand in the file; each is read once.

    Parameters
    ----------
    content : bytes or memoryview
        A table that can be parsed.
    """

    def __init__(self, content: bytes | memoryview) -> None:
        self._content = content
        self._columns: dict[str, Array] = {}

    def __call__(self, name: str) -> Array:
        """Read a column: (n_rows,), str objects."""
        if name not in self._columns:
            [column] = parse_csv(bytes(self._content), [name], [name]).columns
            self._columns[name] = np.array(column.to_pylist(), dtype=object)
        return self._columns[name]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._content)

    def copy(self) -> CsvTexts:
        """Return one that needs no other memory than its own."""
        return CsvTexts(bytes(self._content))


def header_names(start: bytes) -> Sequence[str] | None:
    """Return the names of the columns by the start of a file; None if that ends before they do."""
    if start.startswith(UTF_16_MARKS):  # possibly cut within a character
        start = getincrementaldecoder("utf-16")().decode(start).encode()
    content = start[separator_line_size(start) :]
    if (header := _LINE.match(content)) is None:
        return None
    names: Sequence[str] = _read(header[0], separator_of(content), None, ()).column_names
    return names


def as_utf_8(content: bytes) -> bytes:
    """Return text in UTF-8 that may be UTF-16; ValueError where that is broken."""
    return content.decode("utf-16").encode() if content.startswith(UTF_16_MARKS) else content


def separator_line_size(start: bytes) -> int:
    """Return the bytes of Excel's first line "sep=;" at the start of a file; 0 without it."""
    line = _SEPARATOR_LINE.match(start)
    return line.end() if line else 0


def separator_of(content: bytes) -> str:
    """Return the separator of the header row; names in quotes may contain others."""
    header = _QUOTED.sub(b"", content.partition(b"\n")[0])
    return next((mark for mark in ",;\t" if mark.encode() in header), ",")


def _read(
    content: bytes,
    separator: str,
    columns: Sequence[str] | None,
    texts: Collection[str],
    decimal_point: str = ".",
) -> pa.Table:
    # Without newlines_in_values, Arrow splits quoted values with line breaks at ends of blocks.
    lines = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    options = pyarrow.csv.ConvertOptions(
        decimal_point=decimal_point,
        include_columns=None if columns is None else list(columns),
        column_types=dict.fromkeys(texts, pa.string()),
    )
    # Arrow's threads split work by blocks; after one block, they abort a process that ends soon.
    blocks = pyarrow.csv.ReadOptions()
    blocks.use_threads = len(content) > blocks.block_size
    read = partial(pyarrow.csv.read_csv, read_options=blocks, parse_options=lines)
    table = read(io.BytesIO(content), convert_options=options)
    times = {f.name: pa.string() for f in table.schema if pa.types.is_temporal(f.type)}
    if not times:
        return table
    # Times are read as text, as in the file: "12:30" would turn into "12:30:00".
    options.column_types = times | dict.fromkeys(texts, pa.string())
    return read(io.BytesIO(content), convert_options=options)


def has_decimal_commas(parts: Iterable[pa.Array | pa.ChunkedArray]) -> bool:
    """Return whether a column, in parts, is text that consists of numbers, some with commas."""
    has_any = False
    for values in parts:
        if not pa.types.is_string(values.type):
            return False
        matches = pyarrow.compute.match_substring_regex(values, _DECIMAL_COMMA)
        whole = pyarrow.compute.match_substring_regex(values, r"^[+-]?\d*$")
        if not pyarrow.compute.all(pyarrow.compute.or_(matches, whole)).as_py():
            return False
        has_any |= bool(pyarrow.compute.any(matches).as_py())
    return has_any


def check_decimal_points(before: pa.Schema, after: pa.Schema, with_comma: str) -> None:
    """Raise ValueError where some column has decimal points, and another one decimal commas.

    Parameters
    ----------
    before, after : pa.Schema
        Types as read with decimal points, and with decimal commas.
    """
    mixed = [
        name
        for name, own, other in zip(before.names, before.types, after.types, strict=True)
        if pa.types.is_floating(own) and pa.types.is_string(other)
    ]
    if mixed:
        raise ValueError(
            f"column {with_comma!r} has decimal commas, and column {mixed[0]!r} decimal points; "
            "use one of them"
        )
