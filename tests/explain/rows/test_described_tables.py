"""Descriptions of tables through the runner: rows, columns, and the match with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from onnx import TensorProto, helper
from onnxplain.tables import to_table
from onnxplain.v1.explanation_service_pb2 import (
    DescribeTableRequest,
    DescribeTableResponse,
    ExplainRequest,
    MethodOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_description_pb2 import ColumnDescription, FeatureMatching
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

MODELS = Path(__file__).parents[2] / "models"
FOREST = (MODELS / "sklearn_random_forest_3class.onnx").read_bytes()
CSV = b"a,b,c,d,kind\n1,2,3,4,x\n2,2,3,4,y\n3,2,3,9,\n"


def by_name() -> bytes:
    """A model with the inputs a and b."""
    names = ("a", "b")
    graph = helper.make_graph(
        [helper.make_node("Mul", names, ["y"])],
        "product",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 1]) for n in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def describe(make: Any, **asked: Any) -> DescribeTableResponse:
    request = DescribeTableRequest(**({"table": Table(csv=CSV)} | asked))
    runner = InProcess(1)
    try:
        reply = runner.answer(
            Call(ServiceMethod.DESCRIBE_TABLE, request.SerializeToString()), make.host()
        )
    finally:
        runner.close()
    return DescribeTableResponse.FromString(reply.content)


def near(**values: float | str) -> Columns:
    return Columns(
        columns=[
            Column(name=name, strings=[value])
            if isinstance(value, str)
            else Column(name=name, numbers=[value])
            for name, value in values.items()
        ]
    )


def matching(make: Any, model: bytes, **asked: Any) -> FeatureMatching:
    return describe(make, model=Model(content=model), **asked).table.matching


def test_first_rows_are_returned_and_all_are_counted(make: Any) -> None:
    table = describe(make, row_count=2).table

    assert table.row_count == 3
    assert [column.name for column in table.columns] == ["a", "b", "c", "d", "kind"]
    assert list(table.rows.row_indices) == [0, 1]
    assert list(table.rows.columns[0].numbers) == [1, 2]
    assert list(table.rows.columns[4].strings) == ["x", "y"]
    assert table.columns[4].missing_count == 1
    assert not table.HasField("matching")


def test_chosen_rows_come_in_their_order(make: Any) -> None:
    rows = describe(make, row_indices=[2, 0]).table.rows

    assert list(rows.row_indices) == [2, 0]
    assert list(rows.columns[3].numbers) == [9, 4]


def test_nearest_rows_come_with_their_distances(make: Any) -> None:
    rows = describe(make, near=near(a=2.5, kind="y"), row_count=2).table.rows

    # a spans 2: |2 - 2.5| / 2 = 0.25; the same for 3, whose kind differs.
    assert list(rows.row_indices) == [1, 2]
    assert list(rows.distances) == pytest.approx([0.125, 0.625])


@pytest.mark.parametrize(
    ("asked", "reason", "field"),
    [
        ({"row_indices": [3]}, Reason.INVALID_OPTION, "row_indices"),
        ({"row_indices": [0], "row_count": 1}, Reason.INVALID_OPTION, "row_indices"),
        ({"row_indices": [0], "near": near(a=1)}, Reason.INVALID_OPTION, "row_indices"),
        ({"row_count": 1001}, Reason.INVALID_OPTION, "row_count"),
        ({"row_count": -1}, Reason.INVALID_OPTION, "row_count"),
        ({"near": near(z=1)}, Reason.MISSING_COLUMN, "near"),
        ({"near": near(a="1")}, Reason.WRONG_TYPE, "near"),
        ({"near": near(kind=1)}, Reason.WRONG_TYPE, "near"),
        ({"near": Columns()}, Reason.INVALID_OPTION, "near"),
        (
            {"near": Columns(columns=[Column(name="a", numbers=[1, 2])])},
            Reason.INVALID_OPTION,
            "near",
        ),
        (
            {"near": Columns(columns=[*near(a=1).columns, *near(a=2).columns])},
            Reason.INVALID_OPTION,
            "near",
        ),
        ({"table": Table()}, Reason.INVALID_REQUEST, "table"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_with_its_field(
    make: Any, asked: dict[str, Any], reason: Reason, field: str
) -> None:
    with pytest.raises(ExplainError) as refused:
        describe(make, **asked)

    assert (refused.value.reason, refused.value.field) == (reason, field)


def test_a_column_of_another_type_is_named_and_not_read(make: Any) -> None:
    table = to_table({"x": [1, 2], "when": pa.array([[1], [2]])})

    described = describe(make, table=table).table

    kinds = {column.name: (column.type, column.other_type) for column in described.columns}
    assert kinds == {
        "x": (ColumnDescription.NUMBER, ""),
        "when": (ColumnDescription.OTHER, "list<item: int64>"),
    }
    assert [column.name for column in described.rows.columns] == ["x"]


def test_features_are_matched_by_name(make: Any) -> None:
    found = matching(make, by_name(), table=Table(csv=b"y,b,a\n1,2,3\n4,5,6\n"))

    assert list(found.feature_columns) == ["a", "b"]
    assert (found.rule, found.target_column, found.refusal) == (FeatureMatching.BY_NAME, "y", "")


def test_several_columns_beside_the_features_propose_no_target(make: Any) -> None:
    assert matching(make, by_name()).target_column == ""


def test_the_weight_is_no_target(make: Any) -> None:
    table = Table(csv=b"a,b,w,y\n1,2,1,0\n3,4,1,1\n")

    assert matching(make, by_name(), table=table, weight_column="w").target_column == "y"


def test_features_are_matched_by_position_with_a_warning(make: Any) -> None:
    found = describe(make, model=Model(content=FOREST), target_column="kind")

    assert found.table.matching.rule == FeatureMatching.BY_POSITION
    assert list(found.table.matching.feature_columns) == ["a", "b", "c", "d"]
    assert [warning.code for warning in found.warnings] == ["COLUMNS_BY_POSITION"]


def test_of_a_model_without_names_the_last_of_one_column_too_many_is_proposed(make: Any) -> None:
    found = matching(make, FOREST)

    assert found.target_column == "kind"
    assert list(found.feature_columns) == []


def test_listed_features_are_told_as_such(make: Any) -> None:
    found = matching(make, FOREST, feature_columns=["d", "c", "b", "a"])

    assert found.rule == FeatureMatching.LISTED
    assert list(found.feature_columns) == ["d", "c", "b", "a"]
    assert found.target_column == "kind"


def test_a_refusal_is_that_of_an_explanation(make: Any) -> None:
    table = Table(csv=b"b,z\n1,2\n3,4\n")
    explanation = ExplainRequest(
        model=Model(content=by_name()),
        table=table,
        methods=[MethodOptions(interactions=InteractionsOptions())],
    )
    runner = InProcess(1)
    with pytest.raises(ExplainError) as refused:
        runner.answer(Call(ServiceMethod.EXPLAIN, explanation.SerializeToString()), make.host())
    runner.close()

    found = matching(make, by_name(), table=table)

    assert found.refusal == refused.value.message
    assert list(found.missing_columns) == ["a"]
    assert found.rule == FeatureMatching.RULE_UNSPECIFIED


def test_a_table_without_rows_is_described_too(make: Any) -> None:
    table = describe(make, table=Table(csv=b"a,b\n"), near=near(a=1)).table

    assert table.row_count == 0
    assert list(table.rows.row_indices) == []
    assert [column.HasField("minimum") for column in table.columns] == [False, False]
