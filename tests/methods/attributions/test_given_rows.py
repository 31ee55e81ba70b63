"""Rows explained by their values, and the scale that they are explained on by default."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
import pytest
from onnxplain.errors import ExplainError
from onnxplain.v1.attributions_pb2 import AttributionsOptions
from onnxplain.v1.explanation_service_pb2 import MethodOptions

MODELS = Path(__file__).parents[2] / "models"


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as opened:
        yield opened


def kind(name: str) -> tuple[Path, dict[str, list[Any]]]:
    columns = json.loads((MODELS / f"{name}.json").read_text(encoding="utf-8"))["columns"]
    return MODELS / f"{name}.onnx", columns


@dataclass
class Sent:
    """Method of options that an answer has."""

    options: AttributionsOptions

    def to_message(self) -> MethodOptions:
        return MethodOptions(attributions=self.options)


def taken(columns: dict[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
    return {name: [values[row] for row in rows] for name, values in reversed(columns.items())}


def values(client, name: str, question: dict[str, Any] | None = None, **options):
    model, columns = kind(name)
    asked = onnxplain.Attributions(**options)
    return client.explain(model, columns, asked, plots=False, **(question or {}))


@pytest.mark.parametrize(
    ("name", "engine", "options"),
    [
        ("lightgbm_categorical_regressor", "TREES", {"order": 2}),
        ("lightgbm_categorical_regressor", "TREES", {"perturbation": "PATH_DEPENDENT"}),
        ("sklearn_columns_ignore", "ADDITIVE", {}),  # text, and sums
        ("network_float", "BLACK_BOX", {"permutation_count": 100_000}),  # all coalitions
    ],
)
def test_given_rows_have_the_values_of_equal_rows_of_the_table(
    client, name: str, engine: str, options: dict[str, Any]
) -> None:
    _, columns = kind(name)

    of_table = values(client, name, row_indices=[7, 2], **options).attributions
    given = values(client, name, explained_rows=taken(columns, [7, 2]), **options)

    assert of_table.row_indices.tolist() == [7, 2]  # in the order of the request
    assert given.receipt.engine == engine
    found = given.attributions
    assert found.row_indices.tolist() == []
    near = 1e-9 if engine == "TREES" else 1e-5
    assert found.values == pytest.approx(of_table.values, rel=near, abs=near)
    assert found.predictions == pytest.approx(of_table.predictions, rel=near)
    if of_table.interactions is not None:
        assert found.interactions == pytest.approx(of_table.interactions, rel=near, abs=near)
    means = np.abs(found.values).mean(axis=0)  # given rows weigh the same
    assert found.mean_absolute_values == pytest.approx(means, rel=1e-9, abs=1e-12)
    assert found.to_arrow()["row_index"].unique().to_pylist() == [0, 1]


def test_a_row_that_is_not_in_the_table_is_explained_as_the_model_predicts_it(client) -> None:
    model, columns = kind("lightgbm_regressor")
    other = {name: [1.5 * max(column)] for name, column in columns.items()}
    engines = [{"engine": "TREES"}, {"engine": "BLACK_BOX"}]

    asked = {"explained_rows": other, "permutation_count": 100_000}
    trees, box = (values(client, "lightgbm_regressor", e, **asked) for e in engines)

    predicted = client.predict(model, other).values
    assert trees.attributions.predictions == pytest.approx(predicted, rel=1e-5)
    assert box.attributions.standard_errors is None
    assert trees.attributions.values == pytest.approx(box.attributions.values, rel=1e-3, abs=1e-5)


def test_the_options_of_an_answer_ask_for_the_same(client) -> None:
    model, columns = kind("lightgbm_regressor")
    for choice in ({"explained_rows": taken(columns, [3])}, {"row_indices": [3]}, {}):
        first = values(client, "lightgbm_regressor", **choice).attributions
        again = client.explain(model, columns, Sent(first.options), plots=False).attributions
        assert again.options == first.options
        assert again.values == pytest.approx(first.values)


ROW = {"Age": [38.0], "Gender": ["Male"]}


@pytest.mark.parametrize(
    ("rows", "options", "reason", "words"),
    [
        ({"Age": [1]}, {}, "MISSING_COLUMN", "has none for 'Gender'"),
        (ROW | {"Gender": [1]}, {}, "WRONG_TYPE", "'Gender' holds text"),
        (ROW | {"Age": ["x"]}, {}, "WRONG_TYPE", "'Age' holds numbers"),
        ({"Age": [], "Gender": []}, {}, "INVALID_OPTION", "has 0 rows"),
        (ROW, {"row_indices": [1]}, "INVALID_OPTION", "row_indices and explained_rows both"),
        (ROW, {"explained_row_count": 3}, "INVALID_OPTION", "explained_row_count"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    client, rows: dict[str, Any], options: dict[str, Any], reason: str, words: str
) -> None:
    _, columns = kind("sklearn_columns_ignore")
    others = {name: own[: len(rows["Age"])] for name, own in columns.items() if name not in ROW}

    with pytest.raises(ExplainError, match=words) as refused:
        values(client, "sklearn_columns_ignore", explained_rows=others | rows, **options)

    assert refused.value.reason == reason
    assert refused.value.field.startswith("methods[0].attributions.")


@pytest.mark.parametrize(
    ("name", "methods", "question", "scale"),
    [
        ("sklearn_logistic_binary", ["attributions"], {}, "MARGIN"),
        ("sklearn_logistic_binary", ["attributions"], {"scale": "RESPONSE"}, "RESPONSE"),
        ("sklearn_logistic_binary", ["attributions"], {"prediction": "exp(`1`)"}, "RESPONSE"),
        ("sklearn_logistic_binary", ["attributions", "firm"], {}, "RESPONSE"),
        ("sklearn_logistic_binary", ["firm"], {}, "RESPONSE"),
        ("sklearn_random_forest_binary", ["attributions"], {}, "RESPONSE"),  # it has no margin
    ],
)
def test_attributions_alone_are_on_the_margin(
    client, name: str, methods: list[str], question: dict[str, Any], scale: str
) -> None:
    model, columns = kind(name)

    answer = client.explain(model, columns, *methods, plots=False, **question)

    assert answer.receipt.scale == scale
    told = [s for s in answer.summary if "(margin)" in s]
    assert bool(told) == (scale == "MARGIN")


PATHS = {"perturbation": "PATH_DEPENDENT"}
PAIRS = {"order": 2, "permutation_count": 2}


@pytest.mark.parametrize(
    ("name", "question", "options", "is_advised"),
    [
        ("xgboost_binary", {"scale": "RESPONSE"}, PATHS, True),
        ("xgboost_binary", {"prediction": "exp(`1`)"}, PATHS, False),
        ("xgboost_binary", {"scale": "RESPONSE"}, PAIRS, True),
        ("sklearn_logistic_binary", {"scale": "RESPONSE"}, PATHS, False),  # no trees on either
        ("sklearn_logistic_binary", {"scale": "MARGIN"}, PATHS, False),
        ("sklearn_logistic_binary", {"scale": "RESPONSE"}, PAIRS, True),
        ("sklearn_network_binary", {"scale": "RESPONSE"}, PAIRS, False),
    ],
)
def test_the_margin_is_advised_only_where_it_answers(
    client, name: str, question: dict[str, Any], options: dict[str, Any], is_advised: bool
) -> None:
    with pytest.raises(ExplainError) as refused:
        values(client, name, question, **options)

    assert refused.value.reason == "INVALID_OPTION"
    assert ("MARGIN" in refused.value.message) == is_advised
    if is_advised:
        assert values(client, name, {"scale": "MARGIN"}, **options).attributions.values.any()


def test_a_lone_row_is_taken_in_any_form_and_tells_the_features_alone(client) -> None:
    _, columns = kind("sklearn_columns_ignore")
    row = {name: own[3] for name, own in columns.items()} | {"Gender": None, "name": "Ada"}
    frame = pd.DataFrame([row]).astype({"name": "category"})
    question, few = {"engine": "BLACK_BOX"}, {"permutation_count": 30}

    answers = [
        values(client, "sklearn_columns_ignore", question, explained_rows=rows, **few)
        for rows in (row, pd.Series(row), frame)
    ]

    first = answers[0].attributions
    assert first.feature_values["Gender"].tolist() == [""]  # missing, though it has no kind
    told = [each.name for each in first.options.explained_rows.columns]
    assert sorted(told) == sorted(columns)
    assert [warning.code for warning in answers[0].warnings] == ["FEW_PERMUTATIONS"]
    for answer in answers[1:]:
        assert answer.attributions.values == pytest.approx(first.values)


def test_infinite_values_of_given_rows_are_told(client) -> None:
    _, columns = kind("lightgbm_regressor")
    row = {name: [own[0]] for name, own in columns.items()}
    name = next(iter(row))

    answer = values(client, "lightgbm_regressor", explained_rows=row | {name: [np.inf]})

    (warning,) = [each for each in answer.warnings if each.code == "INFINITE_VALUES"]
    assert f"in explained_rows: '{name}'" in warning.message
