"""A request in parts that can be changed: columns, roles, methods, options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pyarrow as pa
from google.protobuf.json_format import ParseDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Column, Columns, Table

Values = list[Any]
"""Numbers, booleans or texts; None where a value is missing."""


@dataclass(frozen=True)
class Case:
    """A request.

    Attributes
    ----------
    content : bytes
        The model.
    columns : mapping of str to list
    form : str
        In which the table is sent: "arrow", "csv" or "columns".
    options : mapping
        Fields of ExplainRequest but model and table, as JSON has them.
    is_matrix : bool
        Whether the model takes one matrix.
    """

    content: bytes = field(repr=False)
    name: str
    columns: Mapping[str, Values]
    form: str
    options: Mapping[str, Any]
    is_matrix: bool

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def methods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.options["methods"]
        return found

    def request(self, **others) -> bytes:
        message = ParseDict({**self.options, **others}, ExplainRequest())
        message.model.content = self.content
        message.table.CopyFrom(_TABLES[self.form](self.columns))
        return bytes(message.SerializeToString())


def is_text(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in values)


def _arrow(columns: Mapping[str, Values]) -> Table:
    arrays = {name: pa.array(_of_one_type(values)) for name, values in columns.items()}
    sink = BytesIO()
    table = pa.table(arrays)
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Table(arrow=sink.getvalue())


def _of_one_type(values: Values) -> Values:
    """Integers beside fractions as fractions."""
    fractional = any(isinstance(value, float) for value in values)
    return [float(v) if fractional and v is not None else v for v in values]


def _columns(columns: Mapping[str, Values]) -> Table:
    return Table(columns=Columns(columns=[_column(n, v) for n, v in columns.items()]))


def _column(name: str, values: Values) -> Column:
    if is_text(values):
        return Column(name=name, strings=[value or "" for value in values])
    return Column(name=name, numbers=[math.nan if v is None else float(v) for v in values])


def _csv(columns: Mapping[str, Values]) -> Table:
    lines = [",".join(columns)]
    lines += [",".join(map(_cell, row)) for row in zip(*columns.values(), strict=True)]
    return Table(csv="\n".join([*lines, ""]).encode())


def _cell(value) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


_TABLES = {"arrow": _arrow, "columns": _columns, "csv": _csv}
