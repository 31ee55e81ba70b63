"""Causes of differences: each is found on models that real converters wrote, and none without one.

The expectations of `models/*.json` and `models/differing/*.csv` are those of the libraries.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxplain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnxplain import PredictionComparison

MODELS = Path(__file__).parents[2] / "models"
FITTED = sorted(path.stem for path in MODELS.glob("*.json"))

Columns = Mapping[str, Sequence[Any]]


class Case(NamedTuple):
    """Rows of a model, and what its library answers for them: (n_rows, n_outputs) each."""

    columns: Columns
    response: np.ndarray[Any, Any]
    margin: np.ndarray[Any, Any] | None


def case(name: str) -> Case:
    kept = json.loads((MODELS / f"{name}.json").read_text())
    margin = kept["margin"]
    return Case(kept["columns"], np.array(kept["response"]), margin and np.array(margin))


def check(name: str, columns: Columns, expected: Any, **asked: Any) -> PredictionComparison:
    with onnxplain.local() as client:
        allowed = {"allow_inconsistent_model": True, **asked}
        return client.check(MODELS / f"{name}.onnx", columns, expected, **allowed)


def kinds(found: PredictionComparison) -> list[str]:
    return [cause.kind for cause in found.likely_causes]


@pytest.mark.parametrize("name", FITTED)
def test_models_of_all_exporters_agree_with_their_libraries(name: str) -> None:
    known = case(name)
    found = check(name, known.columns, known.response)

    assert found.agrees
    assert (found.row_count, found.differing_row_count) == (len(known.response), 0)
    assert not found.likely_causes
    assert max(each.largest_difference / each.rounding for each in found.outputs) < 0.05


def swapped(known: Case) -> Columns:
    first, second, *others = known.columns
    values = (known.columns[second], known.columns[first], *(known.columns[k] for k in others))
    return dict(zip(known.columns, values, strict=True))


Expected = Callable[[Case], Any]
BOTH = pytest.mark.parametrize("name", ["xgboost_3class", "sklearn_gradient_boosting_binary"])


@pytest.mark.parametrize(
    "name", ["sklearn_gradient_boosting", "xgboost_3class", "sklearn_random_forest_binary"]
)
def test_swapped_columns_are_found_with_the_order_to_give(name: str) -> None:
    known = case(name)
    found = check(name, swapped(known), known.response)
    first, second = list(known.columns)[:2]

    assert kinds(found) == ["FEATURE_ORDER"]
    assert f"{second!r}, {first!r}" in found.likely_causes[0].message
    order = [second, first, *list(known.columns)[2:]]
    assert check(name, swapped(known), known.response, feature_columns=order).agrees


@given(st.permutations(range(8)))
def test_any_order_of_the_columns_of_boosted_trees_is_found(order: list[int]) -> None:
    known = case("xgboost_regressor")
    values = list(known.columns.values())
    moved = dict(zip(known.columns, (values[k] for k in order), strict=True))
    found = check("xgboost_regressor", moved, known.response)

    assert found.agrees or kinds(found) == ["FEATURE_ORDER"]


@pytest.mark.parametrize(
    ("expected", "kind", "told"),
    [
        pytest.param(lambda c: c.response[:, ::-1], "OUTPUT_ORDER", "another order", id="classes"),
        pytest.param(lambda c: c.margin, "LINK", "MARGIN", id="margins"),
        pytest.param(
            lambda c: 3 * c.response + 2, "FACTOR_OR_CONSTANT", "3 × ", id="factor and constant"
        ),
    ],
)
@BOTH
def test_what_was_done_to_the_predictions_is_found(
    name: str, expected: Expected, kind: str, told: str
) -> None:
    known = case(name)
    found = check(name, known.columns, expected(known))

    assert kinds(found) == [kind]
    assert told in found.likely_causes[0].message
    assert found.likely_causes[0].explained_row_count == len(known.response)


@BOTH
def test_probabilities_beside_margins_are_found(name: str) -> None:
    known = case(name)
    found = check(name, known.columns, known.response, scale="MARGIN")

    assert kinds(found) == ["LINK"]
    assert "RESPONSE" in found.likely_causes[0].message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("network_float", lambda c: 0 * c.response + 3),
        ("sklearn_gradient_boosting", lambda c: 0 * c.response + 3),
        ("sklearn_gradient_boosting_binary", lambda c: c.response * [0, 3] + [0.5, 0]),
    ],
)
def test_a_constant_is_no_multiple_of_the_predictions(name: str, expected: Expected) -> None:
    known = case(name)
    found = check(name, known.columns, expected(known))

    assert found.differing_row_count > 0
    assert kinds(found) == []


def test_one_column_stands_for_the_second_class_of_two() -> None:
    known = case("sklearn_gradient_boosting_binary")

    assert check("sklearn_gradient_boosting_binary", known.columns, known.response[:, 1]).agrees
    other = check("sklearn_gradient_boosting_binary", known.columns, known.response[:, 0])
    assert kinds(other) == ["OUTPUT_ORDER"]


def test_labels_in_place_of_probabilities_are_found() -> None:
    known = case("sklearn_gradient_boosting_binary")
    labels = known.response.argmax(axis=1)

    found = check("sklearn_gradient_boosting_binary", known.columns, labels)
    assert kinds(found) == ["CLASS_LABELS"]


@pytest.mark.parametrize("is_marked", [False, True], ids=["labels", "a column for each"])
@pytest.mark.parametrize("name", ["xgboost_3class", "sklearn_random_forest_3class"])
def test_labels_of_several_classes_are_found_with_what_to_give(name: str, is_marked: bool) -> None:
    known = case(name)
    labels = known.response.argmax(axis=1)
    found = check(name, known.columns, np.eye(3)[labels] if is_marked else labels)

    assert kinds(found) == ["CLASS_LABELS"]
    assert "a column for each of" in found.likely_causes[0].message
    assert len(found.outputs) == 3
    assert found.differing_rows[0].expected.sum() == 1
    two = check(name, known.columns, labels, output_indices=[2, 0])
    assert (len(two.outputs), kinds(two)) == (2, ["CLASS_LABELS"])


@pytest.mark.parametrize(("function", "told"), [(np.exp, "exp"), (np.expm1, "expm1")])
def test_a_target_on_a_log_scale_is_found(function: Any, told: str) -> None:
    known = case("network_float")
    found = check("network_float", known.columns, function(known.response))

    assert kinds(found) == ["LINK"]
    assert f"are {told} of" in found.likely_causes[0].message


@given(st.integers(0, 2**32 - 1))
def test_no_cause_is_told_for_predictions_of_another_model(seed: int) -> None:
    known = case("sklearn_random_forest_3class")
    others = np.random.default_rng(seed).dirichlet([1, 1, 1], len(known.response))
    found = check("sklearn_random_forest_3class", known.columns, others)

    assert found.differing_row_count > 0
    assert kinds(found) == []


def differing(name: str) -> tuple[Columns, list[str]]:
    with (MODELS / "differing" / f"{name}.csv").open() as file:
        header, *rows = csv.reader(file)
    values = zip(*rows, strict=True)
    columns = {
        column: [float(cell or "nan") for cell in cells]
        for column, cells in zip(header, values, strict=True)
    }
    return columns, [column for column in header if column.startswith("expected_")]


@pytest.mark.parametrize(
    ("name", "kind", "told", "largest"),
    [
        ("isotonic_calibration", "CONVERTER_FAULT", "issue 1151 of sklearn-onnx", 0.089),
        ("histogram_boosting", "THRESHOLD_ROUNDING", "issue 1192 of sklearn-onnx", 0.0313),
        ("doubles_at_thresholds", "THRESHOLD_ROUNDING", "inputs of doubles", 0.174),
        ("forest_with_missing_values", "MISSING_VALUES", "issue 1253 of sklearn-onnx", 0.190),
    ],
)
def test_faults_of_converters_are_found(name: str, kind: str, told: str, largest: float) -> None:
    columns, expected = differing(name)
    found = check(f"differing/{name}", columns, expected)

    assert kinds(found) == [kind]
    assert told in found.likely_causes[0].message
    assert found.largest_difference == pytest.approx(largest, rel=0.01)


@pytest.mark.parametrize(("count", "expected"), [(1, ["CONVERTER_FAULT"]), (10_000, [])])
def test_a_fault_of_a_converter_is_told_beside_another_cause(
    count: int, expected: list[str]
) -> None:
    """Of rows that differ by the fault, so many differ by more."""
    columns, names = differing("isotonic_calibration")
    features = {name: column for name, column in columns.items() if name not in names}
    predicted = np.column_stack([columns[name] for name in names])
    with onnxplain.local() as client:
        found = client.predict(MODELS / "differing" / "isotonic_calibration.onnx", features).values
    differs = np.abs(found[:, -predicted.shape[1] :] - predicted).max(axis=1) > 0.01
    others = np.flatnonzero(differs)[:count]
    predicted[others] = np.random.default_rng(0).random((len(others), predicted.shape[1]))
    moved = dict(zip(names, predicted.T.tolist(), strict=True))
    compared = check("differing/isotonic_calibration", {**columns, **moved}, names)

    assert kinds(compared) == expected
    if expected:
        message = compared.likely_causes[0].message
        assert " 1 of " in message
        assert "rows that differ does so without this fault as well." in message


@pytest.mark.parametrize(
    "name", ["histogram_boosting", "doubles_at_thresholds", "forest_with_missing_values"]
)
def test_a_fault_of_some_rows_is_not_told_where_other_rows_differ(name: str) -> None:
    columns, [expected] = differing(name)
    generator = np.random.default_rng(0)
    others = {**columns, expected: generator.permutation(columns[expected]).tolist()}

    assert kinds(check(f"differing/{name}", others, [expected])) == []


@pytest.fixture
def encoded() -> tuple[dict[str, list[Any]], list[str]]:
    """Rows of an encoder of `Gender`, of which some have a category that it does not know."""
    columns = {
        name: list(values) for name, values in case("sklearn_columns_ignore").columns.items()
    }
    female = [gender == "Female" for gender in columns["Gender"]]
    unknown = ["X" if is_female else "Male" for is_female in female]
    return {**columns, "Gender": unknown}, columns["Gender"]


def test_an_unknown_category_is_found_and_named(encoded: Any) -> None:
    """The library's encoder takes what it does not know for a category that it knows."""
    columns, known = encoded
    expected = case("sklearn_columns_ignore").response
    found = check("sklearn_columns_ignore", columns, expected)

    assert found.differing_row_count == known.count("Female")
    assert kinds(found) == ["UNKNOWN_CATEGORY"]
    assert "'Gender'" in found.likely_causes[0].message
    assert "'X'" in found.likely_causes[0].message


def test_missing_text_is_no_unknown_category(encoded: Any) -> None:
    columns, known = encoded
    missing = [None if value == "X" else value for value in columns["Gender"]]
    expected = case("sklearn_columns_ignore").response
    found = check("sklearn_columns_ignore", {**columns, "Gender": missing}, expected)

    assert found.differing_row_count == known.count("Female")
    assert kinds(found) == ["MISSING_VALUES"]


def test_rows_that_lack_a_value_and_rows_of_an_unknown_category_are_told_apart(
    encoded: Any,
) -> None:
    columns, known = encoded
    first = columns["Gender"].index("X")
    mixed = [None if k == first else value for k, value in enumerate(columns["Gender"])]
    expected = case("sklearn_columns_ignore").response
    found = check("sklearn_columns_ignore", {**columns, "Gender": mixed}, expected)

    count = known.count("Female")
    assert kinds(found) == ["MISSING_VALUES", "UNKNOWN_CATEGORY"]
    assert [cause.explained_row_count for cause in found.likely_causes] == [1, count - 1]
    assert f"1 of {count} rows that differ has missing" in found.likely_causes[0].message


def test_missing_values_that_all_rows_have_are_no_cause() -> None:
    columns, expected = differing("forest_with_missing_values")
    rows = np.flatnonzero(np.isnan(columns["b"]))
    missing = {name: np.take(column, rows).tolist() for name, column in columns.items()}
    found = check("differing/forest_with_missing_values", missing, expected)

    assert found.differing_row_count > 0
    assert "MISSING_VALUES" not in kinds(found)


def step(mode: str = "", constant: float = 5.0) -> bytes:
    """The model 5 * [x >= 1] + z, or with x > 1; as a tree of this mode, or as operators."""
    tree: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": [mode, "LEAF", "LEAF"],
        "nodes_values": [1.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [constant, 0.0],
        "n_targets": 1,
    }
    nodes = [
        helper.make_node("TreeEnsembleRegressor", ["x"], ["high"], domain="ai.onnx.ml", **tree)
    ]
    if not mode:
        nodes = [
            helper.make_node("Greater", ["x", "one"], ["is_above"]),
            helper.make_node("Cast", ["is_above"], ["step"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["step", "five"], ["high"]),
        ]
    taken = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 1]) for n in ("x", "z")]
    known = [
        numpy_helper.from_array(np.array([value], np.float32), name)
        for name, value in (("one", 1), ("five", constant))
    ]
    graph = helper.make_graph(
        [*nodes, helper.make_node("Add", ["high", "z"], ["y"])],
        "step",
        taken,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
        known,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("mode", "above", "expected"),
    [
        ("BRANCH_GTE", False, ["THRESHOLD_ROUNDING"]),
        ("BRANCH_GT", True, ["THRESHOLD_ROUNDING"]),
        ("", True, []),
    ],
)
def test_a_value_at_a_threshold_of_trees_is_moved_to_either_side(
    mode: str, above: bool, expected: list[str]
) -> None:
    """Its library has 1 on the other side of the threshold; a model without trees is left alone."""
    x, z = np.arange(-20, 20) + 1.0, np.sin(np.arange(40))
    library = 5.0 * ((x >= 1) if above else (x > 1)) + z
    with onnxplain.local() as client:
        found = client.check(step(mode), {"x": x, "z": z}, library)

    assert found.differing_row_count == 1
    assert kinds(found) == expected
    if expected:
        assert "Values of 'x'" in found.likely_causes[0].message
        assert "in the row that differs" in found.likely_causes[0].message


def test_columns_in_another_order_that_give_a_constant_are_no_cause() -> None:
    """With x and z swapped, 5 * [z > 1] + x is 0 in all rows, as any constant is explained."""
    rows = {"x": np.zeros(40), "z": np.sin(np.arange(40))}
    with onnxplain.local() as client:
        found = client.check(step(), rows, np.zeros(40))

    assert found.differing_row_count > 0
    assert kinds(found) == []


@pytest.mark.parametrize("feature_count", [2, 12, 60, 400])
def test_causes_are_tried_within_the_rows_that_are_told(feature_count: int) -> None:
    """docs/checking.md tells 30,000; trees that predict what nothing explains cost most."""
    random = np.random.default_rng(0)
    features = {f"f{k}": column for k, column in enumerate(random.random((feature_count, 300)))}
    rows = {**features, "target": random.random(300), "p": random.random(300)}
    with onnxplain.local() as client:
        answer = client.explain(
            stumps(feature_count),
            rows,
            "average_loss",
            feature_columns=list(features),
            target_column="target",
            expected_prediction_columns=["p"],
            plots=False,
        )

    assert answer.receipt.prediction_comparison is not None
    assert kinds(answer.receipt.prediction_comparison) == []
    assert answer.receipt.predicted_row_count - 300 <= 30_000  # the methods predict none


def stumps(count: int) -> bytes:
    """Trees of one split each, at 0.5 of each feature of a matrix."""
    number = [k for k in range(count) for _ in range(3)]
    tree: dict[str, Any] = {
        "nodes_treeids": number,
        "nodes_nodeids": [0, 1, 2] * count,
        "nodes_featureids": number,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * count,
        "nodes_values": [0.5, 0.0, 0.0] * count,
        "nodes_truenodeids": [1, 0, 0] * count,
        "nodes_falsenodeids": [2, 0, 0] * count,
        "target_treeids": [k for k in range(count) for _ in range(2)],
        "target_nodeids": [1, 2] * count,
        "target_ids": [0, 0] * count,
        "target_weights": [weight for k in range(count) for weight in (0.0, 1.0 + k)],
        "n_targets": 1,
    }
    graph = helper.make_graph(
        [helper.make_node("TreeEnsembleRegressor", ["rows"], ["y"], domain="ai.onnx.ml", **tree)],
        "stumps",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", count])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
