"""Attributions in Python: arrays, frames, and explanations of the package shap."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnxplain
import pytest
from onnxplain import AttributionsResult

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "tests/models/sklearn_gradient_boosting.onnx"
CLASSES = ROOT / "tests/models/lightgbm_3class.onnx"


@pytest.fixture(scope="module")
def single() -> AttributionsResult:
    rows = {f"x{j}": np.linspace(-1, 1, 30) * (j + 1) for j in range(10)}
    asked = onnxplain.Attributions(row_indices=[3, 20], groups=[("x0", "x9")], order=2)
    with onnxplain.local() as client:
        return client.explain(MODEL, rows, asked, plots=False).attributions


def test_arrays_have_the_shapes_that_they_tell(single: AttributionsResult) -> None:
    assert single.features[0] == ("x0", "x9")
    assert single.values.shape == (2, 9, 1)
    assert single.interactions is not None
    assert single.interactions.shape == (2, len(single.pairs), 1)
    assert single.standard_errors is None
    assert single.values[single.row_indices == 20].shape == (1, 9, 1)
    total = single.base_values + single.values.sum(axis=1)
    assert total == pytest.approx(single.predictions)
    halves = np.zeros((2, 9, 1))
    for k, (one, two) in enumerate(single.pairs):
        for each in (one, two):
            halves[:, single.features.index(each)] += single.interactions[:, k] / 2
    main = single.values - halves
    together = main.sum(axis=1) + single.interactions.sum(axis=1)
    assert together + single.base_values == pytest.approx(single.predictions)


def test_a_frame_has_a_line_for_each_row_feature_and_output(single: AttributionsResult) -> None:
    frame = single.to_pandas()

    assert len(frame) == 2 * 9
    own = frame[(frame.row_index == 20) & (frame.features == "x0 + x9")]
    assert own.value.tolist() == single.values[1, 0].tolist()
    assert "standard_error" not in frame  # a frame has no column without a value


def test_values_are_an_explanation_of_shap(
    single: AttributionsResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))

    made = single.to_shap()

    assert made.values.tolist() == single.values[:, :, 0].tolist()
    assert made.base_values.tolist() == single.base_values.tolist() * 2
    assert made.feature_names == ["x0 + x9", *(f"x{j}" for j in range(1, 9))]
    first, last = (single.feature_values[name][0] for name in ("x0", "x9"))
    assert made.data[0, 0] == f"{first}; {last}"
    assert made.data[1, 1] == single.feature_values["x1"][1]
    assert made.output_names is None


def test_shap_that_is_not_installed_is_told(
    single: AttributionsResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)

    with pytest.raises(ModuleNotFoundError, match="shap"):
        single.to_shap()
