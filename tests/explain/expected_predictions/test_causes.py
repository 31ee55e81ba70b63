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


def test_missing_values_that_all_rows_have_are_no_cause() -> None:
    columns, expected = differing("forest_with_missing_values")
    rows = np.flatnonzero(np.isnan(columns["b"]))
    missing = {name: np.take(column, rows).tolist() for name, column in columns.items()}
    found = check("differing/forest_with_missing_values", missing, expected)

    assert found.differing_row_count > 0
    assert "MISSING_VALUES" not in kinds(found)


@pytest.mark.parametrize("above", [True, False])
def test_a_value_at_a_threshold_is_moved_to_either_side(above: bool) -> None:
    """The model 5 * [x >= 1] + z; its library has 1 on the other side of the threshold or not."""
    nodes = [
        helper.make_node("GreaterOrEqual" if not above else "Greater", ["x", "one"], ["is_above"]),
        helper.make_node("Cast", ["is_above"], ["step"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["step", "five"], ["high"]),
        helper.make_node("Add", ["high", "z"], ["y"]),
    ]
    taken = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 1]) for n in ("x", "z")]
    given_ = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])]
    known = [
        numpy_helper.from_array(np.array([value], np.float32), name)
        for name, value in (("one", 1), ("five", 5))
    ]
    graph = helper.make_graph(nodes, "step", taken, given_, known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x, z = np.arange(-20, 20) + 1.0, np.sin(np.arange(40))
    expected = 5.0 * ((x >= 1) if above else (x > 1)) + z
    with onnxplain.local() as client:
        found = client.check(model.SerializeToString(), {"x": x, "z": z}, expected)

    assert found.differing_row_count == 1
    assert kinds(found) == ["THRESHOLD_ROUNDING"]
    assert "Values of 'x'" in found.likely_causes[0].message
