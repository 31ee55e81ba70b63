"""Detection of affine models."""

from pathlib import Path

import pytest
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.model import Scale

MODELS = Path(__file__).parents[3] / "models"


def is_affine(name: str, scale: Scale) -> bool:
    return load((MODELS / f"{name}.onnx").read_bytes(), scale).is_affine


@pytest.mark.parametrize(
    "name",
    ["sklearn_logistic_3class", "sklearn_logistic_binary", "sklearn_logistic_3class_double"],
)
def test_scores_of_a_logistic_regression_are_affine_and_its_probabilities_are_not(
    name: str,
) -> None:
    assert is_affine(name, Scale.MARGIN)
    assert not is_affine(name, Scale.RESPONSE)


@pytest.mark.parametrize("name", ["sklearn_linear", "sklearn_linear_svc"])
def test_a_linear_answer_is_affine(name: str) -> None:
    assert is_affine(name, Scale.RESPONSE)


@pytest.mark.parametrize(
    "name", ["network_float", "sklearn_network_3class", "xgboost_regressor", "lightgbm_3class"]
)
def test_networks_and_trees_are_not(name: str) -> None:
    assert not is_affine(name, Scale.RESPONSE)
