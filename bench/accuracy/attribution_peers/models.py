"""Six real tables, and a model of five libraries for each, with its ONNX file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from xgboost import XGBClassifier, XGBRegressor

from bench.accuracy.attribution_peers.judge import Predict, Rows, Vector

EXAMPLES = Path(__file__).parents[3] / "examples"
TRAINED, WIDEST = 2_000, 10
"""Rows of a table, and columns: all coalitions of more take long."""
DIGITS = 4
"""Of coordinates: its exporter moves rows where LightGBM splits between float32 neighbours."""
SIZE = {"n_estimators": 50, "max_depth": 4}
BOOSTED = SIZE | {"n_jobs": 2}
FOREST = SIZE | {"bootstrap": False, "max_features": 0.5, "random_state": 0}
"""Without bootstrap: a tree of a drawn sample counts other rows at its nodes than the table has."""
CATBOOST = {"iterations": 50, "depth": 4, "verbose": 0, "allow_writing_files": False}
MAKERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "scikit-learn forest": (
        lambda: RandomForestRegressor(**FOREST),
        lambda: RandomForestClassifier(**FOREST),
    ),
    "scikit-learn boosting": (
        lambda: GradientBoostingRegressor(**SIZE, random_state=0),
        lambda: GradientBoostingClassifier(**SIZE, random_state=0),
    ),
    "XGBoost": (lambda: XGBRegressor(**BOOSTED), lambda: XGBClassifier(**BOOSTED)),
    "LightGBM": (
        lambda: LGBMRegressor(**BOOSTED, verbose=-1),
        lambda: LGBMClassifier(**BOOSTED, verbose=-1),
    ),
    "CatBoost": (lambda: CatBoostRegressor(**CATBOOST), lambda: CatBoostClassifier(**CATBOOST)),
}


@dataclass(frozen=True)
class Table:
    """Numeric columns, exact in float32, and a target: numbers, or 0 and 1."""

    name: str
    rows: pd.DataFrame
    target: Vector
    is_classified: bool


def tables() -> Iterator[Table]:
    """Read the tables: three of regression, three of two classes."""
    gallery = EXAMPLES / "gallery" / "data"
    sources = {
        "california": (gallery / "california.csv.gz", "median_house_value", None),
        "miami": (EXAMPLES / "miami" / "miami_housing.csv.gz", "SALE_PRC", None),
        "wine": (gallery / "wine.csv.gz", "quality", None),
        "pima": (gallery / "pima.csv.gz", "diabetes", 1),
        "bank": (gallery / "bank.csv.gz", "y", "yes"),
        "vertebral": (gallery / "vertebral.csv.gz", "class", "Normal"),
    }
    for name, (path, target, label) in sources.items():
        frame = pd.read_csv(path)
        frame = frame.sample(min(TRAINED, len(frame)), random_state=0)
        columns = frame.drop(columns=[target, "PARCELNO"], errors="ignore")
        numbers = columns.select_dtypes("number").iloc[:, :WIDEST]
        if name == "miami":
            numbers = numbers.round(DIGITS)
        rows = numbers.astype(np.float32)
        goal = (frame[target] if label is None else frame[target] == label).to_numpy()
        yield Table(name, rows.reset_index(drop=True), goal.astype(np.float64), label is not None)


def fitted(kind: str, table: Table) -> Any:
    """Train a model of a library on all rows of a table."""
    model = MAKERS[kind][table.is_classified]()
    target = table.target.astype(int) if table.is_classified else table.target
    return model.fit(table.rows.to_numpy(), target)


def exported(model: Any, width: int) -> onnx.ModelProto:
    """Write a model as ONNX, as its library recommends."""
    made: onnx.ModelProto
    types = [("rows", FloatTensorType([None, width]))]
    library = type(model).__module__.partition(".")[0]
    is_classifier = hasattr(model, "predict_proba")
    plain = {"zipmap": False} if is_classifier else {}
    if library == "xgboost":
        made = convert_xgboost(model, initial_types=types)
    elif library == "lightgbm":
        made = convert_lightgbm(model, initial_types=types, **plain)
    elif library == "catboost":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            model.save_model(str(path), format="onnx")
            made = onnx.load(path)
    else:
        options = {id(model): plain} if is_classifier else None
        made = to_onnx(model, np.zeros((1, width), np.float32), options=options)
    return made


def predictor(model: Any) -> Predict:
    """Return the library's own predictions of the last output, on the margin if there is one."""
    raw: dict[str, dict[str, Any]] = {
        "xgboost": {"output_margin": True},
        "lightgbm": {"raw_score": True},
        "catboost": {"prediction_type": "RawFormulaVal"},
    }
    library = type(model).__module__.partition(".")[0]
    call = model.predict if library in raw else getattr(model, "decision_function", model.predict)
    options = raw.get(library, {})
    if isinstance(model, RandomForestClassifier):
        return lambda rows: np.asarray(model.predict_proba(rows))[:, 1]

    def predict(rows: Rows) -> Vector:
        return np.asarray(call(rows, **options), dtype=np.float64)

    return predict
