"""HTML tables, styled by the notebook or page around them; pandas is not needed."""

from __future__ import annotations

from html import escape
from typing import Any

import pyarrow as pa

_MAX_ROWS = 20
_RIGHT = "text-align: right"
_LEFT = "text-align: left"


def to_html(table: pa.Table, max_rows: int = _MAX_ROWS) -> str:
    """Write the first rows as an HTML table, and say where there are more.

    Columns without any number or text, such as intervals that were not requested, are only named.
    """
    empty = [name for name in table.column_names if table.num_rows and _is_empty(table[name])]
    table = table.drop_columns(empty)
    head = "".join(f'<th style="{_side(f.type)}">{escape(f.name)}</th>' for f in table.schema)
    rows = "".join(_row(table, row) for row in table.slice(0, max_rows).to_pylist())
    html = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    if table.num_rows > max_rows:
        html += f"<p>{max_rows} of {table.num_rows:,} rows; <code>to_pandas()</code> has all.</p>"
    if empty:
        html += f"<p>Empty columns, not shown: {escape(', '.join(empty))}.</p>"
    return html


def _is_empty(column: pa.ChunkedArray) -> bool:
    return all(value in {None, ""} or value != value for value in column.to_pylist())  # noqa: PLR0124 - NaN


def _row(table: pa.Table, row: dict[str, Any]) -> str:
    cells = (
        f'<td style="{_side(field.type)}">{escape(_text(row[field.name]))}</td>'
        for field in table.schema
    )
    return f"<tr>{''.join(cells)}</tr>"


def _side(kind: pa.DataType) -> str:
    return _RIGHT if pa.types.is_floating(kind) or pa.types.is_integer(kind) else _LEFT


def _text(value: Any) -> str:
    """Write a cell: numbers with four digits, which is what a person reads."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return str(value)
