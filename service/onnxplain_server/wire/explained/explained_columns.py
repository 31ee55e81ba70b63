"""Rows that platforms send, as columns of the explainer's background."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Column, Columns

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.wire.rest_table import read_table

Cells: TypeAlias = Mapping[str, Column]
"""Columns of rows by their names in the background."""


def cells_of(form: str, value: Any, request: ExplainRequest) -> Cells:
    """Read rows in a form of `rest_table`, of CSV, or of the Open Inference Protocol.

    Rows without names have the features of the background in their order.

    Raises
    ------
    ExplainError
        INVALID_TABLE, WRONG_TYPE, MISSING_COLUMN.
    """
    background = {column.name: column for column in request.table.columns.columns}
    features = _features(request, background)
    if form == "inputs" and _is_tensors(value):
        form, value = "inputs", _from_tensors(value)
    if form == "csv":
        form, value = "dataframe_split", _from_csv(value, background)
    columns = read_table(form, value)
    names = [column.name for column in columns.columns]
    if len(set(names)) < len(names):
        raise ExplainError(Reason.INVALID_TABLE, f"{form}: a column stands twice", form)
    if _has_names(form, value):
        _check_names(form, names, background, features)
    else:
        names = _named(form, names, features)
    return dict(zip(names, columns.columns, strict=True))


def row_count_of(cells: Cells) -> int:
    """Return the number of rows."""
    return max((len(c.numbers) or len(c.strings) for c in cells.values()), default=0)


def put_first(request: ExplainRequest, cells: Cells, row_count: int, form: str) -> None:
    """Put rows in front of the background, with weight 0.

    Raises
    ------
    ExplainError
        WRONG_TYPE where a row has text for a number, or the other way round.
    """
    background = request.table.columns.columns
    weights = _weights(request)
    together = Columns()
    for column in background:
        if column.name == request.weight_column:
            continue
        cell = cells.get(column.name, Column())
        together.columns.append(_joined(cell, column, row_count, form))
    request.weight_column = request.weight_column or _unused_name(background)
    together.columns.add(name=request.weight_column, numbers=[0.0] * row_count + weights)
    request.table.columns.CopyFrom(together)


def _joined(cell: Column, column: Column, row_count: int, form: str) -> Column:
    if column.strings:
        if any(not math.isnan(number) for number in cell.numbers):
            raise _wrong_type(form, column.name, "text, and a row has a number")
        return Column(
            name=column.name,
            strings=[*(cell.strings or [""] * row_count), *column.strings],
        )
    if any(cell.strings):
        raise _wrong_type(form, column.name, "numbers, and a row has text")
    return Column(
        name=column.name, numbers=[*(cell.numbers or [math.nan] * row_count), *column.numbers]
    )


def _weights(request: ExplainRequest) -> list[float]:
    """Return the weights of the background, 1 without a column of them."""
    columns = request.table.columns.columns
    for column in columns:
        if column.name == request.weight_column:
            return list(column.numbers)
    return [1.0] * max(len(columns[0].numbers), len(columns[0].strings))


def _unused_name(columns: Sequence[Column]) -> str:
    name = "weight"
    while any(column.name == name for column in columns):
        name += "_"
    return name


def _features(request: ExplainRequest, background: Mapping[str, Column]) -> list[str]:
    roles = {request.target_column, request.weight_column, *request.target_columns}
    return list(request.feature_columns) or [name for name in background if name not in roles]


def _has_names(form: str, value: Any) -> bool:
    if form == "inputs":
        return isinstance(value, dict)
    return form != "instances" or (bool(value) and isinstance(value[0], dict))


def _check_names(
    form: str, names: Sequence[str], background: Mapping[str, Column], features: Sequence[str]
) -> None:
    unknown = [name for name in names if name not in background]
    if unknown:
        raise ExplainError(
            Reason.INVALID_TABLE,
            f'{form}: "{unknown[0][:100]}" is no column of the background, which has '
            f"{', '.join(background)}",
            form,
        )
    missing = [name for name in features if name not in names]
    if missing and names:
        raise ExplainError(
            Reason.MISSING_COLUMN,
            f'{form}: the rows lack the feature "{missing[0]}"; send null for a missing value',
            form,
        )


def _named(form: str, names: Sequence[str], features: Sequence[str]) -> list[str]:
    if names and len(names) != len(features):
        raise ExplainError(
            Reason.INVALID_TABLE,
            f"{form}: a row has {len(names)} values, and there are {len(features)} features: "
            f"{', '.join(features)}",
            form,
        )
    return list(features[: len(names)])


def _from_csv(text: str, background: Mapping[str, Column]) -> dict[str, Any]:
    """Read CSV with a header row; a cell is a number where the background has numbers."""
    try:
        names, *rows = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
    except csv.Error as error:
        raise ExplainError(Reason.INVALID_TABLE, f"csv: {error}", "csv") from None
    converters = [
        _text_cell if name in background and background[name].strings else _number_cell
        for name in names
    ]
    data = [[convert(cell) for convert, cell in zip(converters, row, strict=False)] for row in rows]
    for index, row in enumerate(rows):
        if len(row) != len(names):
            raise ExplainError(
                Reason.INVALID_TABLE,
                f"csv: row {index} has {len(row)} cells, and the header {len(names)}",
                "csv",
            )
    return {"columns": names, "data": data}


def _text_cell(cell: str) -> str | None:
    return cell or None


def _number_cell(cell: str) -> float | str | None:
    if not cell.strip():
        return None
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if math.isfinite(number) else None if math.isnan(number) else cell


def _is_tensors(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(tensor, dict) and "datatype" in tensor for tensor in value)
    )


def _from_tensors(tensors: Sequence[Mapping[str, Any]]) -> Any:
    """Return one tensor of several columns as rows, and others as columns by name."""
    shaped = [(_text(tensor, "name"), *_shaped(tensor)) for tensor in tensors]
    if len(shaped) == 1 and shaped[0][1] != 1:
        return shaped[0][2]
    columns = {}
    for name, width, rows in shaped:
        if width != 1:
            raise _bad_tensor(name, "has several columns; send one tensor with all of them")
        columns[name] = [row[0] for row in rows]
    return columns


def _shaped(tensor: Mapping[str, Any]) -> tuple[int, list[list[Any]]]:
    """Return the number of columns of a tensor, and its rows."""
    name, shape = _text(tensor, "name"), tensor.get("shape")
    values = _flat(tensor.get("data"), name)
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or not all(map(_is_size, shape)):
        raise _bad_tensor(name, "must have the shape [rows] or [rows, columns]")
    width = shape[1] if len(shape) == 2 else 1
    if len(values) != shape[0] * width:
        raise _bad_tensor(name, f"has {len(values)} values, and its shape is {shape}")
    return width, [values[at : at + width] for at in range(0, len(values), width)]


def _flat(data: Any, name: str) -> list[Any]:
    if not isinstance(data, list):
        raise _bad_tensor(name, "has no data, a list of values")
    return [value for row in data for value in (row if isinstance(row, list) else [row])]


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _text(tensor: Mapping[str, Any], field: str) -> str:
    value = tensor.get(field)
    if not isinstance(value, str):
        raise _bad_tensor("", f"must have a {field}")
    return value


def _bad_tensor(name: str, rule: str) -> ExplainError:
    return ExplainError(Reason.INVALID_TABLE, f'inputs: the tensor "{name[:100]}" {rule}', "inputs")


def _wrong_type(form: str, column: str, rule: str) -> ExplainError:
    return ExplainError(Reason.WRONG_TYPE, f'{form}: "{column}" has {rule}', form)
