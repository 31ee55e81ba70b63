"""Requests for predictions, and about tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxplain.requests.arguments import Scale
from onnxplain.requests.expected import with_expected
from onnxplain.requests.forms import (
    to_expressions,
    to_input_columns,
    to_names,
    to_output_names,
)
from onnxplain.requests.models import to_model
from onnxplain.requests.written import written
from onnxplain.tables import to_table
from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    DescribeTableRequest,
    PredictRequest,
)
from onnxplain.v1.table_pb2 import Column, Columns

_CALLED = {"row_indices": "rows", "expected_prediction_columns": "expected"}


def to_predict_request(
    model: Any,
    table: Any,
    *,
    rows: Sequence[int] = (),
    feature_columns: Sequence[str] = (),
    input_columns: Mapping[str, Sequence[str]] | None = None,
    target_column: str = "",
    target_columns: Sequence[str] = (),
    weight_column: str = "",
    output_indices: Sequence[int] = (),
    outputs: str | Sequence[str] = (),
    scale: Scale | None = None,
    prediction: str | Sequence[str] = (),
    allow_inconsistent_model: bool = False,
) -> PredictRequest:
    """Write a request for predictions; see `Client.predict` for the arguments."""
    names = to_names(feature_columns, "feature_columns")
    return written(
        PredictRequest,
        _CALLED,
        model=to_model(model),
        table=to_table(table, names),
        feature_columns=names,
        input_columns=to_input_columns(input_columns),
        target_column=target_column,
        target_columns=to_names(target_columns, "target_columns"),
        weight_column=weight_column,
        output_indices=output_indices,
        outputs=to_output_names(outputs),
        scale=scale,
        row_indices=rows,
        prediction=to_expressions(prediction),
        allow_inconsistent_model=allow_inconsistent_model,
    )


def to_check_request(
    model: Any,
    table: Any,
    expected: Any,
    *,
    feature_columns: Sequence[str] = (),
    input_columns: Mapping[str, Sequence[str]] | None = None,
    target_column: str = "",
    weight_column: str = "",
    output_indices: Sequence[int] = (),
    outputs: str | Sequence[str] = (),
    scale: Scale | None = None,
    prediction: str | Sequence[str] = (),
    allow_inconsistent_model: bool = False,
) -> CheckModelRequest:
    """Write a request for a check; see `Client.check` for the arguments."""
    names = to_names(feature_columns, "feature_columns")
    rows, columns = with_expected(table, expected, names)
    return written(
        CheckModelRequest,
        _CALLED,
        model=to_model(model),
        table=to_table(rows, names),
        feature_columns=names,
        input_columns=to_input_columns(input_columns),
        target_column=target_column,
        weight_column=weight_column,
        output_indices=output_indices,
        outputs=to_output_names(outputs),
        scale=scale,
        prediction=to_expressions(prediction),
        allow_inconsistent_model=allow_inconsistent_model,
        expected_prediction_columns=columns,
    )


def to_describe_request(
    table: Any,
    model: Any = None,
    *,
    rows: Sequence[int] = (),
    row_count: int | None = None,
    near: Mapping[str, float | str] | None = None,
    feature_columns: Sequence[str] = (),
    input_columns: Mapping[str, Sequence[str]] | None = None,
    target_column: str = "",
    target_columns: Sequence[str] = (),
    weight_column: str = "",
) -> DescribeTableRequest:
    """Write a request about a table; see `Client.describe_table` for the arguments."""
    names = to_names(feature_columns, "feature_columns")
    return written(
        DescribeTableRequest,
        _CALLED,
        model=None if model is None else to_model(model),
        table=to_table(table, names),
        feature_columns=names,
        input_columns=to_input_columns(input_columns),
        target_column=target_column,
        target_columns=to_names(target_columns, "target_columns"),
        weight_column=weight_column,
        row_count=row_count,
        row_indices=rows,
        near=None if near is None else Columns(columns=[_value(*item) for item in near.items()]),
    )


def _value(name: str, value: float | str) -> Column:
    if isinstance(value, str):
        return Column(name=name, strings=[value])
    return Column(name=name, numbers=[value])
