"""Odd tables, and the forms in which they are sent: CSV, Parquet, Arrow, a frame, JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from odd.columns import Cells, Column
from onnxplain.tables import to_table
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.wire import rest_request

Columns = Mapping[str, Column]


def _arrow_table(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(column.cells) for name, column in columns.items()})


def _arrow(columns: Columns) -> Table:
    return to_table(_arrow_table(columns))


def _single(columns: Columns) -> Table:
    """Arrow whose fractions are float32 and whose texts are dictionaries, where values allow."""
    table = _arrow_table(columns)
    for place, (name, kind) in enumerate(zip(table.column_names, table.schema.types, strict=True)):
        if pa.types.is_string(kind):
            table = table.set_column(place, name, table[name].dictionary_encode())
        elif pa.types.is_floating(kind) and _is_single(columns[name].truth):
            table = table.set_column(place, name, table[name].cast(pa.float32(), safe=False))
    return to_table(table)


def _is_single(numbers: np.ndarray[Any, Any]) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.array_equal(numbers.astype(np.float32), numbers, equal_nan=True))


def _parquet(columns: Columns) -> Table:
    sink = io.BytesIO()
    pq.write_table(_arrow_table(columns), sink)
    return Table(parquet=sink.getvalue())


def _frame(columns: Columns) -> Table:
    return to_table(pd.DataFrame({name: column.cells for name, column in columns.items()}))


def _csv(columns: Columns) -> Table:
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(columns)
    writer.writerows(zip(*(map(_cell, c.cells) for c in columns.values()), strict=True))
    return Table(csv=sink.getvalue().encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json(columns: Columns) -> Table:
    cells = {name: [*map(_json_cell, column.cells)] for name, column in columns.items()}
    if any(isinstance(c, float) and math.isinf(c) for own in cells.values() for c in own):
        table: Any = {"table": {"columns": {"columns": [*map(_numbers_or_texts, columns.items())]}}}
    else:
        rows = [list(row) for row in zip(*cells.values(), strict=True)]
        table = {"dataframe_split": {"columns": list(columns), "data": rows}}
    return rest_request.from_json(json.dumps(table).encode(), ExplainRequest).table


def _json_cell(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, datetime) else value


def _numbers_or_texts(item: tuple[str, Column]) -> Any:
    """Write a column as the contract has it, which has words for what JSON has no number for."""
    name, column = item
    if column.is_text or column.kind == "date":
        return {"name": name, "strings": [_json_cell(cell) or "" for cell in column.cells]}
    words = {math.inf: "Infinity", -math.inf: "-Infinity"}
    numbers = column.truth.tolist()
    return {
        "name": name,
        "numbers": ["NaN" if math.isnan(n) else words.get(n, n) for n in numbers],
    }


FORMS: dict[str, Callable[[Columns], Table]] = {
    "arrow": _arrow,
    "single": _single,
    "parquet": _parquet,
    "frame": _frame,
    "csv": _csv,
    "json": _json,
}


def taken(columns: Columns, rows: Cells) -> dict[str, Column]:
    """Keep these rows."""
    return {n: Column(c.kind, [c.cells[row] for row in rows]) for n, c in columns.items()}
