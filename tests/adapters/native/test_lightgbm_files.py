"""LightGBM's files: the predictions of models of several versions are those of LightGBM itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason

FOLDER = Path(__file__).parents[2] / "models/native/lightgbm"
LINEAR = {"linear", "linear_json"}
FILES = sorted(file for file in FOLDER.glob("*/*") if file.stem not in LINEAR | {"answers"})
TABLES = {"filled": "filled", "codes": "codes", "codes_json": "codes"}
TWO_CLASSES = {"binary", "no_splits", "codes_json"}
"""Cases of which LightGBM gives the probability of the second class only."""


def feeds(model, table: Any) -> dict[str, np.ndarray]:
    if isinstance(table, list):
        return {model.inputs[0].name: np.array(table, dtype=np.float64)}
    columns = {name.replace(" ", "_"): values for name, values in table.items()}
    return {each.name: column(each.type, columns[each.name]) for each in model.inputs}


def column(kind: str, values: list[Any]) -> np.ndarray:
    if kind == "string":
        return np.array(["" if v is None else v for v in values], dtype=object).reshape(-1, 1)
    dtype = np.float64 if kind == "double" else np.float32
    return np.array(values, dtype=dtype).reshape(-1, 1)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_predictions_are_those_of_the_library(file):
    kept = json.loads((file.parent / "answers.json").read_text())
    is_frame = file.stem.startswith("frame")
    table = kept["frame" if is_frame else TABLES.get(file.stem, "rows")]
    expected = np.array(kept[f"{file.stem} predicts"])
    if file.stem in TWO_CLASSES | {"frame"}:
        expected = np.hstack([1 - expected, expected])

    model = load(file.read_bytes())

    predictions = model.predict(feeds(model, table))
    assert predictions.dtype == np.float64
    assert predictions == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", ["linear.txt", "linear_json.json"])
def test_linear_functions_in_leaves_are_refused(name):
    with pytest.raises(ExplainError, match="linear_tree") as refused:
        load((FOLDER / "4.6.0" / name).read_bytes())

    assert refused.value.reason is Reason.UNSUPPORTED_MODEL
