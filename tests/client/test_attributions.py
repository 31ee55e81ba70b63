"""Attributions in Python: arrays, frames, and explanations of the package shap."""

from __future__ import annotations

import sys
from dataclasses import replace
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


def test_a_frame_has_a_line_for_each_row_feature_or_pair_and_output(
    single: AttributionsResult,
) -> None:
    frame = single.to_pandas()
    values, pairs = frame[frame.kind == "value"], frame[frame.kind == "interaction"]

    assert (len(values), len(pairs), len(frame)) == (2 * 9, 2 * 36, 2 * 45)
    own = values[(values.row_index == 20) & (values.features == "x0 + x9")]
    assert own.value.tolist() == single.values[1, 0].tolist()
    assert "standard_error" not in frame  # a frame has no column without a value
    assert single.interactions is not None
    place = single.pairs.index((("x0", "x9"), ("x3",)))
    pairs = pairs[(pairs.feature_1 == "x0 + x9") & (pairs.feature_2 == "x3")]
    own = pairs[pairs.row_index == 20]
    assert own.features.tolist() == ["x0 + x9 × x3"]
    assert own.value.tolist() == single.interactions[1, place].tolist()
    assert own.prediction.tolist() == single.predictions[1].tolist()


def test_a_frame_without_pairs_has_no_columns_for_them() -> None:
    rows = {name: np.linspace(-1, 1, 30) for name in "abcd"}
    with onnxplain.local() as client:
        asked = onnxplain.Attributions(explained_row_count=2)
        found = client.explain(CLASSES, rows, asked, plots=False).attributions

    assert [*found.to_pandas(output=found.output_names[0])] == [
        *("row_index", "features", "value", "prediction", "base_value")
    ]


def test_a_single_player_has_no_pairs() -> None:
    rows = {f"x{j}": np.linspace(-1, 1, 30) * (j + 1) for j in range(10)}
    asked = onnxplain.Attributions(explained_row_count=2, groups=[tuple(rows)], order=2)
    with onnxplain.local() as client:
        frame = client.explain(MODEL, rows, asked, plots=False).attributions.to_pandas()

    assert frame.kind.tolist() == ["value"] * 2


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


@pytest.mark.parametrize("asked", [(MODEL, 10), (CLASSES, 4)])
def test_interactions_are_those_of_shap(
    asked: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=SimpleNamespace))
    model, count = asked
    rows = {f"x{j}": np.linspace(-1, 1, 30) * (j + 1) for j in range(count)}
    options = onnxplain.Attributions(explained_row_count=3, order=2)
    with onnxplain.local() as client:
        found = client.explain(model, rows, options, plots=False).attributions

    made = np.array(found.to_shap(interactions=True).values).reshape(3, count, count, -1)

    assert found.interactions is not None
    assert made.sum(axis=2) == pytest.approx(found.values)
    assert made == pytest.approx(made.transpose(0, 2, 1, 3))
    for pair, players in enumerate(found.pairs):
        one, two = map(found.features.index, players)
        assert 2 * made[:, one, two] == pytest.approx(found.interactions[:, pair])
    with pytest.raises(ValueError, match="order=2"):
        replace(found, interactions=None).to_shap(interactions=True)


def test_shap_that_is_not_installed_is_told(
    single: AttributionsResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)

    with pytest.raises(ModuleNotFoundError, match="shap"):
        single.to_shap()
