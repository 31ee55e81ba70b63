"""Attributions of linear models: coefficient times the distance to the background's mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxplain
import pytest
from onnx import helper

MODELS = Path(__file__).parents[2] / "models"


def linear(count: int) -> bytes:
    """A model of (2 x0 - 3 x1 + ...), of so many features."""
    node = helper.make_node(
        "LinearRegressor",
        ["X"],
        ["y"],
        domain="ai.onnx.ml",
        coefficients=[2.0, -3.0, 0.5, 0.0, 4.0, 1.0][:count],
        intercepts=[7.0],
    )
    rows = helper.make_tensor_value_info("X", 1, ["n", count])
    answer = helper.make_tensor_value_info("y", 1, ["n", 1])
    graph = helper.make_graph([node], "linear", [rows], [answer])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


ROWS = {f"x{j}": np.round(np.random.default_rng(j).normal(size=40), 2) for j in range(6)}
WEIGHTS = {"w": np.arange(40) % 3 + 0.0}


@pytest.mark.parametrize("prediction", ["", "exp(y / 10)"])
def test_values_of_a_linear_model_are_exact(prediction: str) -> None:
    asked = onnxplain.Attributions(
        row_indices=[0, 5], groups=[("x0", "x4")], order=2, permutation_count=100_000
    )
    with onnxplain.local() as client:
        found = client.explain(
            onnx.load_from_string(linear(6)),
            ROWS | WEIGHTS,
            asked,
            weight_column="w",
            prediction=[prediction] if prediction else (),
            feature_columns=[*ROWS],
            plots=False,
        )
    values = found.attributions
    weights = WEIGHTS["w"]
    if prediction:  # exact as well, from all coalitions, and with interactions
        assert values.interactions is not None
        assert np.abs(values.interactions).max() > 1e-3
        return
    assert values.standard_errors is None
    assert found.receipt.predicted_row_count < 5_000  # all coalitions would take more
    coefficients = dict(zip(ROWS, [2.0, -3.0, 0.5, 0.0, 4.0, 1.0], strict=True))
    for i, row in enumerate((0, 5)):
        for p, group in enumerate(values.features):
            expected = sum(
                coefficients[name] * (ROWS[name][row] - np.average(ROWS[name], weights=weights))
                for name in group
            )
            assert values.values[i, p, 0] == pytest.approx(expected, abs=1e-5)
    assert values.interactions is not None
    assert not values.interactions.any()


def test_a_linear_score_behind_a_link_is_no_sum() -> None:
    rows = {
        f"x{j}": values for j, values in enumerate(np.random.default_rng(1).normal(size=(8, 30)))
    }
    model = MODELS / "sklearn_logistic_binary.onnx"
    asked = onnxplain.Attributions(row_indices=[2], permutation_count=20)
    with onnxplain.local() as client:
        response = client.explain(model, rows, asked, scale="RESPONSE", plots=False).attributions
        margin = client.explain(model, rows, asked, plots=False).attributions

    assert response.standard_errors is not None
    assert margin.standard_errors is None
    assert margin.additivity_errors.max() < 1e-4
