"""Comparison with expected predictions: its numbers, its place in an answer, and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper
from onnxplain.requests.rows import to_predict_request
from onnxplain.transport.rpcs import CHECK
from onnxplain.v1.explanation_service_pb2 import CheckModelRequest
from onnxplain_server.explain.expected_predictions.differences import (
    agree,
    rounding_of,
    sizes_of,
)

FLOAT32 = 2.0**-23
FOREST = Path(__file__).parents[2] / "models" / "sklearn_random_forest_3class.onnx"


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


@pytest.fixture(scope="module")
def total() -> bytes:
    """The model a + b, of double inputs called a and b."""
    names = ("a", "b")
    graph = helper.make_graph(
        [helper.make_node("Add", names, ["y"])],
        "total",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, ["n", 1]) for n in names],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def classifier(slope: float, constant: float) -> bytes:
    """A binary classifier of a and b, whose second class has the probability slope * a + const."""
    scores = helper.make_node(
        "LinearClassifier",
        ["rows"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        coefficients=[-slope, 0.0, slope, 0.0],
        intercepts=[1 - constant, constant],
        classlabels_ints=[0, 1],
        post_transform="NONE",
    )
    graph = helper.make_graph(
        [scores],
        "rare",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 2])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 2]),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def test_rounding_is_a_share_of_the_range_and_of_the_largest_prediction() -> None:
    """By hand: ranges 3 and 0, largest 4 and 5; what is missing or infinite does not count."""
    expected = np.array([[1, 5], [4, 5], [np.nan, 5], [np.inf, 5]], dtype=float)

    assert rounding_of(expected) == pytest.approx([3e-4 + 16 * FLOAT32, 20 * FLOAT32])


def test_rounding_of_probabilities_is_that_of_the_largest_class() -> None:
    """By hand: a class that is rare by itself, and beside one of a probability of 1."""
    rare = np.array([[0.0], [1e-6]])

    assert rounding_of(rare) == pytest.approx([1e-10 + 4e-6 * FLOAT32])
    assert rounding_of(rare, 1.0) == pytest.approx([4 * FLOAT32])
    assert rounding_of(10 * np.array([[0.0], [1]]), 1.0) == pytest.approx([1e-3 + 40 * FLOAT32])


def test_a_rare_class_is_rounded_where_its_sum_is(client: onnxplain.Client) -> None:
    """The model gives 1e-6 and 1 - 1e-6; its library the same, off by a rounding of the second."""
    rows, shares = {"a": np.arange(9.0), "b": np.zeros(9)}, 1e-6 + 1e-8 * np.arange(9)
    near = np.column_stack([1 - shares, shares + 2e-7])
    far = np.column_stack([1 - shares, shares + 2e-6])
    model = classifier(1e-8, 1e-6)

    assert client.check(model, rows, near).agrees
    assert client.check(model, rows, near[:, 1]).agrees
    assert client.check(model, rows, far).differing_row_count == 9


def test_missing_and_infinite_values_agree_with_themselves_only() -> None:
    sides = np.array([[np.nan], [np.inf], [-np.inf], [1.0]])
    differ = [
        [bool(agree(sides[[i]], sides[[j]], np.array([0.5]))[0]) for j in range(4)]
        for i in range(4)
    ]

    assert differ == np.eye(4, dtype=bool).tolist()
    assert sizes_of(sides[:1], sides[3:]).tolist() == [[np.inf]]


def test_differences_are_told_by_output_and_by_row(client: onnxplain.Client, total: bytes) -> None:
    """By hand: a + b is 0, 11, 22, 33, 44; expected 0, 11, 23, 33, 46."""
    rows = {"a": np.arange(5) * 10.0, "b": np.arange(5.0)}
    found = client.check(total, rows, [0, 11, 23, 33, 46])

    assert (found.agrees, found.row_count, found.differing_row_count) == (False, 5, 2)
    (output,) = found.outputs
    assert (output.output_name, output.expected_column) == ("y", "expected_0")
    assert (output.largest_difference, output.median_difference) == (2, 0)
    assert output.rounding == pytest.approx(46e-4 + 4 * 46 * FLOAT32)
    worst, next_ = found.differing_rows
    assert (worst.row_index, worst.expected.tolist(), worst.predicted.tolist()) == (4, [46], [44])
    assert (next_.row_index, next_.expected.tolist(), next_.predicted.tolist()) == (2, [23], [22])
    assert found.likely_causes == ()
    assert [warning.code for warning in found.warnings] == ["PREDICTIONS_DIFFER"]


def test_an_answer_carries_the_comparison_and_warns(client: onnxplain.Client, total: bytes) -> None:
    rows = {"a": np.arange(9.0) ** 2, "b": np.arange(9.0), "p": np.arange(9.0) ** 2 + np.arange(9)}
    asked: dict[str, Any] = {"expected_prediction_columns": ["p"], "plots": False}
    right = client.explain(total, rows, "partial_dependence", **asked)
    wrong = client.explain(total, {**rows, "p": rows["p"][::-1]}, "partial_dependence", **asked)

    assert right.receipt.prediction_comparison is not None
    assert right.receipt.prediction_comparison.agrees
    assert right.warnings == ()
    assert wrong.receipt.prediction_comparison is not None
    assert wrong.receipt.prediction_comparison.differing_row_count == 8
    assert [warning.code for warning in wrong.warnings] == ["PREDICTIONS_DIFFER"]
    assert client.explain(total, rows, plots=False).receipt.prediction_comparison is None


def test_an_overview_compares_too(client: onnxplain.Client, total: bytes) -> None:
    rows = {"a": np.arange(9.0) ** 2, "b": np.arange(9.0), "p": np.ones(9)}
    found = client.explain(total, rows, expected_prediction_columns=["p"], plots=False)

    assert found.receipt.prediction_comparison is not None
    assert found.receipt.prediction_comparison.differing_row_count == 9
    assert "PREDICTIONS_DIFFER" in [warning.code for warning in found.warnings]


def test_rows_of_weight_0_are_not_compared_by_an_answer(
    client: onnxplain.Client, total: bytes
) -> None:
    rows = {"a": [1.0, 2, 3, 4], "b": [1.0, 1, 2, 2], "w": [0, 1, 1, 1], "p": [9.0, 3, 5, 7]}
    found = client.explain(
        total,
        rows,
        "partial_dependence",
        weight_column="w",
        expected_prediction_columns=["p"],
        plots=False,
    ).receipt.prediction_comparison

    assert found is not None
    assert (found.row_count, [row.row_index for row in found.differing_rows]) == (3, [3])


def test_expected_predictions_are_no_features_of_a_model_without_names(
    client: onnxplain.Client,
) -> None:
    kept = json.loads(FOREST.with_suffix(".json").read_text())
    columns = {f"p{k}": column for k, column in enumerate(np.transpose(kept["response"]))}
    before = {**columns, **kept["columns"]}

    assert client.check(FOREST, before, [*columns]).agrees


@pytest.mark.parametrize("place", range(3))
def test_chosen_outputs_are_compared_alone(client: onnxplain.Client, place: int) -> None:
    """With a column for each output of the model, as with one for each that is chosen."""
    kept = json.loads(FOREST.with_suffix(".json").read_text())
    others = np.where(np.arange(3) == place, np.array(kept["response"]), 7.0)
    name = client.describe(FOREST).output_names[place]

    for expected in (others, others[:, place]):
        found = client.check(FOREST, kept["columns"], expected, outputs=[name])
        assert [output.output_name for output in found.outputs] == [name]
        assert found.agrees
    two = client.check(FOREST, kept["columns"], others, output_indices=[place, (place + 1) % 3])
    assert [output.differing_row_count > 0 for output in two.outputs] == [False, True]


def test_labels_as_text_are_refused_with_what_to_give(client: onnxplain.Client) -> None:
    kept = json.loads(FOREST.with_suffix(".json").read_text())
    names = client.describe(FOREST).output_names
    labels = [names[k] for k in np.argmax(kept["response"], axis=1)]
    with pytest.raises(onnxplain.ExplainError, match="a column for each of ") as refused:
        client.check(FOREST, {**kept["columns"], "label": labels}, ["label"])

    assert refused.value.reason == "WRONG_TYPE"
    assert all(repr(name) in str(refused.value) for name in names)


@pytest.mark.parametrize(
    ("columns", "reason", "told"),
    [
        (["p", "q"], "INVALID_OPTION", "has 2 columns; give one for each output"),
        (["p", "p"], "INVALID_OPTION", "a column twice"),
        (["label"], "WRONG_TYPE", "holds text; .* give probabilities in place of labels"),
        (["date"], "WRONG_TYPE", "holds dates; expected predictions are numbers"),
        (["missing"], "MISSING_COLUMN", "no column 'missing'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    client: onnxplain.Client, total: bytes, columns: list[str], reason: str, told: str
) -> None:
    rows: dict[str, list[Any]] = {"a": [1.0, 2], "b": [1.0, 1], "p": [2.0, 3], "q": [2.0, 3]}
    rows |= {"label": ["x", "y"], "date": ["2024-01-01", "2024-01-02"]}
    with pytest.raises(onnxplain.ExplainError, match=told) as refused:
        client.check(total, rows, tuple(columns))

    assert (refused.value.reason, refused.value.field) == (reason, "expected_prediction_columns")


def test_a_check_without_expected_predictions_is_refused(
    client: onnxplain.Client, total: bytes
) -> None:
    request = to_predict_request(total, {"a": [1.0, 2], "b": [1.0, 1]})
    with pytest.raises(onnxplain.ExplainError, match="no expected predictions") as refused:
        client.messages.answer(CHECK, CheckModelRequest(model=request.model, table=request.table))

    assert refused.value.reason == "INVALID_REQUEST"


def test_labels_without_a_model_cannot_be_compared(client: onnxplain.Client) -> None:
    rows = {"a": [1.0, 2, 3], "t": [0.0, 1, 0], "p": [0.0, 1, 0]}
    with pytest.raises(onnxplain.ExplainError) as refused:
        client.explain(None, rows, "firm", target_column="t", expected_prediction_columns=["p"])

    assert refused.value.field == "expected_prediction_columns"
