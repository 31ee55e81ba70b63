"""XGBoost's files: the predictions of models of several versions are those of XGBoost itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import load

FOLDER = Path(__file__).parents[2] / "models/native/xgboost"
FILES = sorted(
    file for file in FOLDER.glob("*/*") if file.stem != "answers" and file.suffix != ".onnx"
)


TWO_CLASSES = {"binary", "pruned", "one_hot"}
BY_CODES = {"sets", "one_hot", "named"}


def case(file: Path) -> tuple[np.ndarray, np.ndarray, dict[str, list[Any]]]:
    """Return rows, XGBoost's predictions and the values of categories."""
    kept = json.loads((file.parent / "answers.json").read_text())
    rows = np.array(kept["codes" if file.stem in BY_CODES else "rows"], np.float32)
    predictions = np.array(kept[file.stem], np.float32)
    if file.stem in TWO_CLASSES:  # XGBoost gives the probability of the second only
        predictions = np.hstack([1 - predictions, predictions])
    return rows, predictions, kept["values"]


def named(values: list[Any], codes: np.ndarray) -> np.ndarray:
    kind, none = (object, "") if isinstance(values[0], str) else (np.float32, np.nan)
    column = [none if np.isnan(code) else values[int(code)] for code in codes]
    return np.array(column, dtype=kind).reshape(-1, 1)


def feeds(model, rows: np.ndarray, values: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    if len(model.inputs) == 1:
        return {model.inputs[0].name: rows}
    columns = {name: named(own, rows[:, i]) for i, (name, own) in enumerate(values.items())}
    return {**columns, "weight": rows[:, [2]]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_predictions_are_those_of_the_library(file):
    rows, expected, values = case(file)

    model = load(file.read_bytes())

    predictions = model.predict(feeds(model, rows, values))
    assert predictions == pytest.approx(expected, rel=3e-6, abs=3e-7)
