"""Models loaded and described at once: from one reading of the file, as by two."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import describe, load, load_described
from onnxplain_server.adapters.onnx.read import read_file
from onnxplain_server.core.model import Scale

MODELS = Path(__file__).parents[2] / "models"
NAMES = ("lightgbm_binary", "sklearn_linear", "sklearn_network_binary", "xgboost_3class")
FILES = [path for name in NAMES for path in MODELS.glob(f"{name}.onnx")]


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_model_and_description_are_those_of_two_readings(file: Path, scale: Scale) -> None:
    content = file.read_bytes()
    description = describe(content)
    if scale is Scale.MARGIN and description.margin_refusal:
        pytest.skip("it has no margin")

    model, described = load_described(content, scale)

    alone = load(content, scale)
    assert described == description
    assert model.output_names == alone.output_names
    assert model.notes == alone.notes
    rows = {each.name: np.ones((3, each.width or 1), np.float32) for each in model.inputs}
    np.testing.assert_array_equal(model.predict(rows), alone.predict(rows))


def test_the_file_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = []

    def read(*arguments):
        readings.append(arguments)
        return read_file(*arguments)

    monkeypatch.setattr(import_module(load.__module__), "read_file", read)

    load_described(FILES[0].read_bytes())

    assert len(readings) == 1
