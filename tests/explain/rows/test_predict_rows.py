"""Predictions of rows through the runner: those of onnxruntime, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    MethodOptions,
    PredictRequest,
    PredictResponse,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

MODELS = Path(__file__).parents[2] / "models"
FOREST = (MODELS / "sklearn_random_forest_3class.onnx").read_bytes()
ROWS = np.random.default_rng(0).uniform(0, 7, (300, 4)).astype(np.float32)


def csv_of(rows: np.ndarray[Any, Any], names: str = "a,b,c,d") -> bytes:
    lines = [",".join(map(repr, row)) for row in rows.astype(float).tolist()]
    return "\n".join([names, *lines]).encode()


def quotient() -> bytes:
    """The model a / b: not a number for 0 / 0."""
    names = ("a", "b")
    graph = helper.make_graph(
        [helper.make_node("Div", names, ["y"])],
        "quotient",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 1]) for n in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def asked(model: bytes, csv: bytes, **given: Any) -> PredictRequest:
    return PredictRequest(model=Model(content=model), table=Table(csv=csv), **given)


def predict(make: Any, request: PredictRequest) -> PredictResponse:
    runner = InProcess(1)
    try:
        reply = runner.answer(Call(ServiceMethod.PREDICT, request.SerializeToString()), make.host())
    finally:
        runner.close()
    assert reply.work.predicted_row_count == len(
        PredictResponse.FromString(reply.content).row_indices
    )
    return PredictResponse.FromString(reply.content)


def refusal(make: Any, request: PredictRequest) -> ExplainError:
    with pytest.raises(ExplainError) as refused:
        predict(make, request)
    return refused.value


@pytest.mark.parametrize("rows", [[], [5], [299, 0, 17]])
def test_predictions_are_those_of_onnxruntime(make: Any, rows: list[int]) -> None:
    session = onnxruntime.InferenceSession(FOREST)
    (given,) = session.get_inputs()
    expected = session.run(["probabilities"], {given.name: ROWS})[0]

    found = predict(make, asked(FOREST, csv_of(ROWS), row_indices=rows))

    chosen = rows or list(range(300))
    assert list(found.row_indices) == chosen
    values = np.reshape(found.values, (len(chosen), len(found.output_names)))
    np.testing.assert_allclose(values, np.asarray(expected)[chosen], rtol=1e-6)


def test_one_row_with_a_missing_value_is_predicted(make: Any) -> None:
    found = predict(make, asked(quotient(), b"a,b\n1,\n"))

    assert np.isnan(found.values[0])


def test_what_is_not_a_number_stays_so(make: Any) -> None:
    found = predict(make, asked(quotient(), b"a,b\n0,0\n1,2\n"))

    assert np.isnan(found.values[0])
    assert found.values[1] == 0.5


def test_outputs_are_chosen_by_name_and_by_position(make: Any) -> None:
    whole = predict(make, asked(FOREST, csv_of(ROWS), row_indices=[3]))
    by_name = predict(make, asked(FOREST, csv_of(ROWS), row_indices=[3], outputs=["virginica"]))
    by_position = predict(make, asked(FOREST, csv_of(ROWS), row_indices=[3], output_indices=[2]))

    assert list(whole.output_names) == ["setosa", "versicolor", "virginica"]
    assert list(by_name.values) == list(by_position.values) == [whole.values[2]]


def test_expressions_stand_in_the_place_of_the_outputs(make: Any) -> None:
    rows = [3, 4]
    whole = predict(make, asked(FOREST, csv_of(ROWS), row_indices=rows))
    found = predict(
        make, asked(FOREST, csv_of(ROWS), row_indices=rows, prediction=["d = setosa - virginica"])
    )

    values = np.reshape(whole.values, (2, 3))
    assert list(found.output_names) == ["d"]
    assert list(found.values) == pytest.approx(values[:, 0] - values[:, 2])


def test_weights_of_0_take_no_row_away(make: Any) -> None:
    table = b"a,b,w\n1,2,0\n3,4,1\n"

    found = predict(make, asked(quotient(), table, weight_column="w"))

    assert list(found.values) == [0.5, 0.75]


@pytest.mark.parametrize(
    ("given", "reason", "field"),
    [
        ({"row_indices": [300]}, Reason.INVALID_OPTION, "row_indices"),
        ({"row_indices": [-1]}, Reason.INVALID_OPTION, "row_indices"),
        ({"row_indices": [1, 1]}, Reason.INVALID_OPTION, "row_indices"),
        ({"outputs": ["tulip"]}, Reason.INVALID_OPTION, "outputs"),
        ({"output_indices": [3]}, Reason.INVALID_OPTION, "output_indices"),
        ({"prediction": ["setosa"], "outputs": ["setosa"]}, Reason.INVALID_OPTION, "outputs"),
        ({"target_column": "z"}, Reason.MISSING_COLUMN, "target_column"),
        ({"weight_column": "z"}, Reason.MISSING_COLUMN, "weight_column"),
        ({"feature_columns": ["a", "b", "c"]}, Reason.MISSING_COLUMN, "feature_columns"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_with_its_field(
    make: Any, given: dict[str, Any], reason: Reason, field: str
) -> None:
    error = refusal(make, asked(FOREST, csv_of(ROWS), **given))

    assert (error.reason, error.field) == (reason, field)


def test_more_than_10_000_rows_are_to_be_chosen(make: Any) -> None:
    rows = np.zeros((10_001, 2))
    error = refusal(make, asked(quotient(), csv_of(rows, "a,b")))

    assert (error.reason, error.field) == (Reason.INVALID_OPTION, "row_indices")
    assert "10,001 rows" in error.message
    chosen = asked(quotient(), csv_of(rows + 1, "a,b"), row_indices=[10_000])
    assert list(predict(make, chosen).values) == [1]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(csv_of(ROWS[:, :3], "a,b,c"), id="a column too few"),
        pytest.param(csv_of(ROWS).replace(b"a,b,c,d\n", b"a,b,c,d\nx,1,1,1\n"), id="text"),
    ],
)
def test_a_table_is_refused_as_an_explanation_would_refuse_it(make: Any, table: bytes) -> None:
    runner = InProcess(1)
    explanation = ExplainRequest(
        model=Model(content=FOREST),
        table=Table(csv=table),
        methods=[MethodOptions(interactions=InteractionsOptions())],
    )
    with pytest.raises(ExplainError) as refused:
        runner.answer(Call(ServiceMethod.EXPLAIN, explanation.SerializeToString()), make.host())
    runner.close()

    error = refusal(make, asked(FOREST, table))

    assert (error.reason, error.message, error.field) == (
        refused.value.reason,
        refused.value.message,
        refused.value.field,
    )


def test_columns_by_position_are_warned_of_as_in_an_explanation(make: Any) -> None:
    found = predict(make, asked(FOREST, csv_of(ROWS), row_indices=[0]))
    listed = predict(
        make, asked(FOREST, csv_of(ROWS), row_indices=[0], feature_columns=["a", "b", "c", "d"])
    )

    assert [warning.code for warning in found.warnings] == ["COLUMNS_BY_POSITION"]
    assert list(listed.warnings) == []
    assert list(found.values) == list(listed.values)


def test_an_inconsistent_model_is_refused_unless_it_is_allowed(make: Any) -> None:
    model = (Path(__file__).parents[2] / "conformance" / "files" / "random.onnx").read_bytes()
    rows = csv_of(ROWS)

    error = refusal(make, asked(model, rows))
    found = predict(make, asked(model, rows, allow_inconsistent_model=True))

    assert error.reason is Reason.INCONSISTENT_MODEL
    assert "INCONSISTENT_MODEL" in [warning.code for warning in found.warnings]


def test_a_request_without_a_model_or_a_table_is_refused(make: Any) -> None:
    no_model = PredictRequest(table=Table(csv=b"a\n1\n"))
    no_table = PredictRequest(model=Model(content=quotient()))
    no_rows = asked(quotient(), b"a,b\n")

    assert refusal(make, no_model).field == "model"
    assert refusal(make, no_table).field == "table"
    assert refusal(make, no_rows).reason is Reason.EMPTY_TABLE
