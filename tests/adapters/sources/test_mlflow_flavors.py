"""Flavors of MLflow tell which file of a model is read."""

from typing import Any

import pytest
import yaml
from onnxplain_server.adapters.sources.mlflow_registry import RegisteredModel, Registry
from onnxplain_server.core.errors import ExplainError

MODEL: Any = RegisteredModel("models:/churn/1", "1", "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flavors", "file"),
    [
        ({"onnx": {"data": "a.onnx"}}, "a.onnx"),
        ({"xgboost": {"data": "model.ubj"}, "python_function": {}}, "model.ubj"),
        ({"xgboost": {}, "onnx": {}}, "model.onnx"),
    ],
)
def test_the_file_of_the_best_flavor_is_named(flavors, file):
    registry = Registry(None, "", "model")  # type: ignore[arg-type]
    assert registry.model_file(MODEL, yaml.safe_dump({"flavors": flavors}).encode()) == file


def test_other_flavors_are_refused():
    registry = Registry(None, "", "model")  # type: ignore[arg-type]
    with pytest.raises(ExplainError, match=r"no flavor onnx, .* or \w+ \(but sklearn\)"):
        registry.model_file(MODEL, yaml.safe_dump({"flavors": {"sklearn": {}}}).encode())
