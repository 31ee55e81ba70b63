"""HTML tables for notebooks, styled by the notebook; pandas is not needed."""

from __future__ import annotations

from html import escape
from typing import Any

import pyarrow as pa

_MAX_ROWS = 20
_RIGHT = "text-align: right"
_LEFT = "text-align: left"


def to_html(table: pa.Table) -> str:
    """Write the first rows as an HTML table, and say where there are more."""
    head = "".join(f'<th style="{_side(f.type)}">{escape(f.name)}</th>' for f in table.schema)
    rows = "".join(_row(table, row) for row in table.slice(0, _MAX_ROWS).to_pylist())
    html = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    if table.num_rows > _MAX_ROWS:
        html += f"<p>{_MAX_ROWS} of {table.num_rows:,} rows; <code>to_pandas()</code> has all.</p>"
    return html


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
    return " × ".join(value) if isinstance(value, list) else str(value)
