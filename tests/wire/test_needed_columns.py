"""Columns that are read of a table: all that a request needs, and few others."""

from __future__ import annotations

from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import DescribeTableRequest, ExplainRequest
from onnxplain_server.core.sources import ModelColumns, TableNeeds
from onnxplain_server.wire.requests.needed_columns import NeededColumns

COLUMNS = ("id", "age", "income", "age_group", "region", "target", "weight", "x`y", "a b")


def needed_of(request: ExplainRequest, names: tuple[str, ...] = ()) -> NeededColumns:
    return NeededColumns(TableNeeds(request.SerializeToString(), ModelColumns(names)))


@pytest.mark.parametrize(
    ("request_", "features", "expected"),
    [
        pytest.param({}, (), None, id="nobody names features: any may be one"),
        pytest.param({}, ("age", "income"), ["age", "income"], id="the model names them"),
        pytest.param({}, ("f0", "f1"), None, id="names of the model that the table lacks"),
        pytest.param(
            {"feature_columns": ["income"], "target_column": "target", "weight_column": "weight"},
            ("age", "income"),
            ["income", "target", "weight"],
            id="the request names them",
        ),
        pytest.param(
            {
                "feature_columns": ["income"],
                "methods": [{"partial_dependence": {"group_column": "region"}}],
            },
            (),
            ["income", "region"],
            id="columns of options",
        ),
        pytest.param(
            {
                "feature_columns": ["income"],
                "methods": [{"firm": {"features": ["log(age) + `a b`"]}}],
            },
            (),
            ["age", "income", "a b"],
            id="columns within expressions, by whole words",
        ),
    ],
)
def test_columns_that_are_needed(request_: Any, features: Any, expected: Any) -> None:
    needed = needed_of(ExplainRequest(**request_), features).of(COLUMNS)

    assert needed == (expected and [name for name in COLUMNS if name in expected])


def test_a_column_that_is_not_mentioned_is_not_read() -> None:
    request = ExplainRequest(feature_columns=["x1"], target_column="y")

    assert needed_of(request).of([f"x{i}" for i in range(500)] + ["y"]) == ["x1", "y"]


def test_all_columns_of_a_table_that_is_described_are_read() -> None:
    request = DescribeTableRequest(feature_columns=["age"]).SerializeToString()

    assert NeededColumns(TableNeeds(request, is_whole=True)).of(COLUMNS) is None
