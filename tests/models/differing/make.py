"""Make the models again that predict otherwise than the library that trained them.

Each NAME.onnx is what skl2onnx wrote, and NAME.csv has rows with the library's own predictions in
the columns `expected_*`. All is seeded: the versions of ../requirements.txt write the same bytes.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from onnx import ModelProto
from skl2onnx import to_onnx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).parent
SHARED = runpy.run_path(str(HERE.parent / "make.py"))
PLAIN_NODE = runpy.run_path(str(HERE.parent / "exporters" / "scikit_learn.py"))["plain_node"]
Case = tuple[str, ModelProto, pd.DataFrame]


def main() -> None:
    for name, model, rows in cases():
        SHARED["make_reproducible"](model, name)
        (HERE / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
        rows.to_csv(HERE / f"{name}.csv", index=False)


def cases() -> Iterator[Case]:
    yield isotonic_calibration()
    yield histogram_boosting()
    yield doubles_at_thresholds()
    yield forest_with_missing_values()


def isotonic_calibration() -> Case:
    """sklearn-onnx 1151: the calibration curve becomes steps."""
    rows = numbers(200)
    y = rows["a"] + rows["b"] + np.random.default_rng(1).normal(size=len(rows)) > 0
    model = CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=2)
    model.fit(rows.to_numpy(), y.astype(int))
    exported = to_onnx(model, rows[:1].to_numpy(), options={"zipmap": False})
    expected = model.predict_proba(rows.to_numpy())
    return "isotonic_calibration", exported, with_expected(rows, expected)


def histogram_boosting() -> Case:
    """sklearn-onnx 1192: thresholds between neighbouring float32 values are rounded up."""
    generator = np.random.default_rng(2)
    rows = numbers(300)
    rows["seconds"] = (1.7e9 + 128 * generator.integers(0, 60, len(rows))).astype(np.float32)
    rows.loc[generator.random(len(rows)) < 0.1, "a"] = np.nan
    y = np.sin(rows["seconds"] - 1.7e9) + rows["a"].fillna(2)
    model = HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=12, random_state=1)
    model.fit(rows.to_numpy(), y)
    with mock.patch("skl2onnx.common._container.make_node", PLAIN_NODE):
        exported = to_onnx(model, rows[:1].to_numpy())
    return "histogram_boosting", exported, with_expected(rows, model.predict(rows.to_numpy()))


def doubles_at_thresholds() -> Case:
    """Seconds as doubles: float32 tells them apart by 128 s only."""
    generator = np.random.default_rng(3)
    rows = numbers(300).astype(np.float64)
    rows["seconds"] = 1.7e9 + 60 * generator.integers(0, 600, len(rows))
    y = (rows["seconds"] - 1.7e9) / 1e4 + rows["a"]
    model = HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=8, random_state=1)
    model.fit(rows.to_numpy(), y)
    with mock.patch("skl2onnx.common._container.make_node", PLAIN_NODE):
        exported = to_onnx(model, rows[:1].to_numpy().astype(np.float32))
    return "doubles_at_thresholds", exported, with_expected(rows, model.predict(rows.to_numpy()))


def forest_with_missing_values() -> Case:
    """sklearn-onnx 1253: where trees send missing values is not written."""
    generator = np.random.default_rng(4)
    rows = numbers(200)
    y = rows["a"] + 2 * (generator.random(len(rows)) < 0.3)
    rows.loc[y > 1.5, "b"] = np.nan
    model = RandomForestRegressor(4, max_depth=4, random_state=1).fit(rows.to_numpy(), y)
    exported = to_onnx(model, rows[:1].to_numpy())
    expected = model.predict(rows.to_numpy())
    return "forest_with_missing_values", exported, with_expected(rows, expected)


def numbers(count: int) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(count, 2)).astype(np.float32)
    return pd.DataFrame(values, columns=["a", "b"])


def with_expected(rows: pd.DataFrame, expected: np.ndarray) -> pd.DataFrame:
    expected = expected.reshape(len(rows), -1)
    names = [f"expected_{k}" for k in range(expected.shape[1])]
    return pd.concat([rows, pd.DataFrame(expected, columns=names)], axis=1)


if __name__ == "__main__":
    main()
