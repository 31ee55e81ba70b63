"""XGBoost's files: the predictions of models of several versions are those of XGBoost itself."""

import json
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import load

FOLDER = Path(__file__).parents[2] / "models/native/xgboost"
FILES = sorted(file for file in FOLDER.glob("*/*") if file.stem != "answers")


def answers(file: Path) -> tuple[np.ndarray, np.ndarray]:
    kept = json.loads((file.parent / "answers.json").read_text())
    return np.array(kept["rows"], np.float32), np.array(kept[file.stem], np.float32)


def with_complement(predictions: np.ndarray) -> np.ndarray:
    """XGBoost's Booster gives the probability of the second of two classes only."""
    return np.hstack([1 - predictions, predictions])


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_predictions_are_those_of_the_library(file):
    rows, expected = answers(file)
    if file.stem in {"binary", "pruned"}:
        expected = with_complement(expected)

    model = load(file.read_bytes())

    predictions = model.predict({model.inputs[0].name: rows})
    assert predictions == pytest.approx(expected, rel=3e-6, abs=3e-7)
