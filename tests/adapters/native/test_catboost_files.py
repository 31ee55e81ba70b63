"""CatBoost's files: the predictions of models of several versions are those of CatBoost itself."""

import json
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import load

FOLDER = Path(__file__).parents[2] / "models/native/catboost"
FILES = sorted(file for file in FOLDER.glob("*/*.json") if file.stem != "answers")


def answers(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, of numbers and two categories, and the library's predictions."""
    kept = json.loads((file.parent / "answers.json").read_text())
    return np.array(kept["rows"], object), np.array(kept[file.stem])


def feeds(model, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows as inputs: a matrix of numbers, or a column for each feature."""
    if len(model.inputs) == 1:
        return {model.inputs[0].name: rows[:, :4].astype(np.float32)}
    columns = {own.name: rows[:, [i]] for i, own in enumerate(model.inputs)}
    return {
        name: column if isinstance(column[0, 0], str) else column.astype(np.float32)
        for name, column in columns.items()
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_predictions_are_those_of_the_library(file):
    rows, expected = answers(file)

    model = load(file.read_bytes())

    assert model.predict(feeds(model, rows)) == pytest.approx(expected, rel=1e-6, abs=3e-7)
