"""Checks of native tree files against predictions: they agree, or the cause is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxplain
import pytest

FOLDER = Path(__file__).parents[2] / "models/native"
FILES = (
    *("xgboost/3.2.0/regression.json", "lightgbm/4.6.0/regression.txt"),
    "catboost/1.2.10/regression.json",
)


@pytest.mark.parametrize("name", FILES)
def test_a_native_file_is_checked_as_other_models_are(name: str) -> None:
    with onnxplain.local() as client:
        width = client.describe(FOLDER / name).inputs[0].width
        rows = np.random.default_rng(0).normal(size=(60, width))
        table = {f"x{j}": column for j, column in enumerate(rows.T)}
        expected = np.asarray(client.predict(FOLDER / name, table).values)
        good = client.check(FOLDER / name, table, expected)
        bad = client.check(FOLDER / name, table, 2 * expected + 1)

    assert good.agrees
    assert [cause.kind for cause in bad.likely_causes] == ["FACTOR_OR_CONSTANT"]
