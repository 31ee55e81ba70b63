"""Trains the models of the paper's case studies, and writes them with their test rows.

    .venv-models/bin/python examples/swarm/train.py

Of each table 20 % are kept for testing, as in the paper; the models' parameters are not published,
so these are the libraries' defaults, but for CatBoost, of which 200 trees do as well as 1,000.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

HERE = Path(__file__).parent


def split(name: str, classes: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a table, its classes last as numbers, and keep rows for testing: train, test."""
    table = pd.read_csv(HERE / f"{name}.csv")
    target = table.columns[-1]
    if classes:
        table[target] = table[target].map(classes.index)
    train, test = train_test_split(table, test_size=0.2, random_state=0, stratify=table[target])
    test.to_csv(HERE / f"{name}_test.csv", index=False)
    return train, test


def vertebral() -> None:
    """XGBoost; classes 0 Hernia, 1 Spondylolisthesis, 2 Normal, as in the paper."""
    train, test = split("vertebral_column_3c", ["Hernia", "Spondylolisthesis", "Normal"])
    model = XGBClassifier().fit(train.iloc[:, :-1].to_numpy(), train.iloc[:, -1])
    kind = [("features", FloatTensorType([None, train.shape[1] - 1]))]
    save("vertebral_xgboost", convert_xgboost(model, initial_types=kind, target_opset=15))
    tell("vertebral", model, test)


def heart() -> None:
    """A random forest; classes 0 healthy, 1 unhealthy."""
    train, test = split("heart_statlog", [])
    rows = train.iloc[:, :-1].to_numpy(np.float32)
    model = RandomForestClassifier(random_state=0).fit(rows, train.iloc[:, -1])
    save("heart_forest", to_onnx(model, rows[:1], options={"zipmap": False}, target_opset=15))
    tell("heart", model, test)


def diabetes() -> None:
    """CatBoost; classes 0 without diabetes, 1 with."""
    train, test = split("pima_diabetes", [])
    model = CatBoostClassifier(
        iterations=200, random_state=0, verbose=False, allow_writing_files=False
    )
    model.fit(train.iloc[:, :-1].to_numpy(), train.iloc[:, -1])
    path = HERE / "diabetes_catboost.onnx"
    model.save_model(path, format="onnx")
    tell("diabetes", model, test)


def save(name: str, model: Any) -> None:
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())


def tell(name: str, model: Any, test: pd.DataFrame) -> None:
    predicted = np.ravel(model.predict(test.iloc[:, :-1].to_numpy(np.float32)))
    print(f"{name}: accuracy {(predicted == test.iloc[:, -1]).mean():.3f} on {len(test)} rows")


if __name__ == "__main__":
    vertebral()
    heart()
    diabetes()
