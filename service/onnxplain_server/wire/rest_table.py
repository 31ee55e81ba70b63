"""Reader of tables in the JSON forms of MLflow's scoring servers.

dataframe_split    {"columns": ["a", "b"], "data": [[1, "x"], [2, "y"]]}, "index" allowed
dataframe_records  [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
instances          the same records; or rows without names, [[1, 2], [3, 4]] or [1, 2]
inputs             {"a": [1, 2], "b": ["x", "y"]}; or rows without names

Columns without names are x0, x1, and so on. null is a missing value, and so is a name that a
record lacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from onnxplain.v1.table_pb2 import Column, Columns

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.canonical import MAX_VALUE_COUNT
from onnxplain_server.wire.scanning.json_reader import ANY, JsonReader, ObjectShape, Shape
from onnxplain_server.wire.scanning.json_shape import ITEM_LIMIT

_LARGEST_EXACT = 2**53
_SPLIT_MEMBERS = frozenset({"columns", "data", "index"})


def read_table(form: str, value: Any) -> Columns:
    """Read a table in the named form, one of `FORMS`.

    Raises
    ------
    ExplainError
        INVALID_TABLE or WRONG_TYPE.
    """
    cells = FORMS[form](form, value)
    _check_count(form, len(cells))
    return Columns(columns=[_column(form, *item) for item in cells])


_Cells = list[tuple[str, Sequence[Any]]]


def _split(form: str, value: Any) -> _Cells:
    if not isinstance(value, dict) or not {"columns", "data"} <= value.keys():
        raise _invalid(form, 'must be an object with "columns" and "data"')
    if unknown := value.keys() - _SPLIT_MEMBERS:
        raise _unknown_member(form, min(unknown))
    columns, rows = value["columns"], value["data"]
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise _invalid(form, '"columns" and "data" must be lists')
    return _transpose(form, [_name(form, name) for name in columns], rows)


def _records(form: str, value: Any) -> _Cells:
    if not isinstance(value, list) or not all(isinstance(record, dict) for record in value):
        raise _invalid(form, "must be a list of objects, one per row")
    names = list(dict.fromkeys(name for record in value for name in record))
    _check_count(form, len(names))
    if len(names) * len(value) > MAX_VALUE_COUNT:
        size = f"has {len(value):,} records with {len(names):,} names"
        rule = f"{size}, more than {MAX_VALUE_COUNT:,} cells; send large tables as files"
        raise _invalid(form, rule)
    return [(name, [record.get(name) for record in value]) for name in names]


def _instances(form: str, value: Any) -> _Cells:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _records(form, value)
    return _matrix(form, value)


def _inputs(form: str, value: Any) -> _Cells:
    if not isinstance(value, dict):
        return _matrix(form, value)
    return [(name, _flatten(form, name, cells)) for name, cells in value.items()]


def _matrix(form: str, value: Any) -> _Cells:
    if not isinstance(value, list):
        raise _invalid(form, "must be a list of rows, or named columns")
    rows = [row if isinstance(row, list) else [row] for row in value]
    width = len(rows[0]) if rows else 0
    _check_count(form, width)
    return _transpose(form, [f"x{index}" for index in range(width)], rows)


def _transpose(form: str, names: Sequence[str], rows: Sequence[Any]) -> _Cells:
    for index, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise _invalid(form, f"row {index} must be a list of {len(names)} values")
    return [(name, [row[position] for row in rows]) for position, name in enumerate(names)]


def _flatten(form: str, name: str, cells: Any) -> Sequence[Any]:
    if not isinstance(cells, list):
        raise _no_list(form, name)
    # A tensor of shape (n, 1) is a column, too.
    return [cell[0] if isinstance(cell, list) and len(cell) == 1 else cell for cell in cells]


def _name(form: str, name: Any) -> str:
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise _invalid(form, "column names must be strings")
    return str(name)


def _column(form: str, name: str, cells: Sequence[Any]) -> Column:
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, str) for cell in present):
        return Column(name=name, strings=["" if cell is None else cell for cell in cells])
    if set(map(type, present)) != {float}:
        for row, cell in enumerate(cells):
            _check_number(form, name, row, cell)
    return Column(name=name, numbers=[math.nan if cell is None else cell for cell in cells])


def _check_number(form: str, name: str, row: int, cell: Any) -> None:
    location = f'{form}: column "{name}", row {row}'
    if cell is not None and not isinstance(cell, int | float):
        kind = "a string among numbers" if isinstance(cell, str) else "neither number nor string"
        raise ExplainError(Reason.WRONG_TYPE, f"{location} is {kind}", form)
    if isinstance(cell, int) and abs(cell) > _LARGEST_EXACT:
        message = f"{location} is an integer beyond 2^53, which would lose digits; send it as text"
        raise ExplainError(Reason.WRONG_TYPE, message, form)


def _check_count(form: str, count: int) -> None:
    if count > ITEM_LIMIT:
        raise _invalid(form, f"has {count:,} columns, more than {ITEM_LIMIT:,}")


def _unknown_member(form: str, name: str) -> ExplainError:
    return _invalid(form, f'has the unknown member "{name[:100]}"')


def _no_list(form: str, name: str) -> ExplainError:
    return _invalid(form, f'"{name[:100]}" must be a list of values')


class _NamedColumns:
    """Columns by their names, each a list; other values are read as they are."""

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:
        """See `Shape.read`."""
        if not reader.starts(at, "{"):
            return reader.scan(at)

        def expect(name: str, found: Mapping[str, Any]) -> Shape:
            _check_count(path, len(found) + 1)
            return _NamedColumn(path, name)

        return reader.members(at, path, expect)


class _NamedColumn(NamedTuple):
    """Column of a name."""

    form: str
    name: str

    def read(self, reader: JsonReader, at: int, path: str) -> tuple[Any, int]:  # noqa: ARG002
        """See `Shape.read`."""
        if not reader.starts(at, "["):
            raise _no_list(self.form, self.name)
        return reader.scan(at)


def _invalid(form: str, rule: str) -> ExplainError:
    return ExplainError(Reason.INVALID_TABLE, f"{form}: {rule}", form)


FORMS: Mapping[str, Callable[[str, Any], _Cells]] = MappingProxyType(
    {
        "dataframe_split": _split,
        "dataframe_records": _records,
        "instances": _instances,
        "inputs": _inputs,
    }
)

TABLE_SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        **dict.fromkeys(FORMS, ANY),
        "inputs": _NamedColumns(),
        "dataframe_split": ObjectShape(
            dict.fromkeys(_SPLIT_MEMBERS, ANY), partial(_unknown_member, "dataframe_split")
        ),
    }
)
"""Shapes of `FORMS` while they are read."""
