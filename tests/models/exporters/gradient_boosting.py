"""Models of LightGBM and XGBoost, exported by onnxmltools, and of CatBoost, by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from catboost import __version__ as catboost_version
from lightgbm import LGBMClassifier, LGBMRegressor
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from xgboost import Booster, DMatrix, XGBClassifier, XGBRegressor, train

Fixture = tuple[str, onnx.ModelProto, pd.DataFrame, dict[str, Any]]
DATA = {"regressor": load_diabetes, "binary": load_breast_cancer, "3class": load_iris}
SIZE = {"n_estimators": 15, "random_state": 1, "n_jobs": 1}
LIGHTGBM = SIZE | {"num_leaves": 8, "verbose": -1, "deterministic": True}
XGBOOST = SIZE | {"max_depth": 3}
CATBOOST = {
    "iterations": 15,
    "depth": 3,
    "random_seed": 1,
    "thread_count": 1,
    "verbose": 0,
    "allow_writing_files": False,
}


def fixtures() -> Iterator[Fixture]:
    for kind, load in DATA.items():
        data = load(as_frame=True)
        features = data.data.iloc[:, :8].round(4).astype(np.float32)
        yield from lightgbm(kind, features, data.target)
        yield from xgboost(kind, features, data.target)
        yield from catboost(kind, features, data.target)
    yield xgboost_file()
    yield from categorical()


def lightgbm(kind: str, features: pd.DataFrame, y) -> Iterator[Fixture]:
    model = (LGBMRegressor if kind == "regressor" else LGBMClassifier)(**LIGHTGBM)
    model.fit(features.to_numpy(), y)
    rows = sample(features)
    answers = answers_of(model, rows.to_numpy(), raw={"raw_score": True})
    types = matrix(features)
    plain = convert_lightgbm(model, initial_types=types, zipmap=False)
    yield f"lightgbm_{kind}", plain, rows, answers
    if kind == "regressor":
        poisson = LGBMRegressor(objective="poisson", **LIGHTGBM).fit(features.to_numpy(), y)
        exported = convert_lightgbm(poisson, initial_types=types)
        yield "lightgbm_poisson", exported, rows, answers_of(poisson, rows.to_numpy(), raw={})
    else:
        mapped = convert_lightgbm(model, initial_types=types)
        yield f"lightgbm_{kind}_zipmap", mapped, rows, answers


def categorical() -> Iterator[Fixture]:
    """Sets of categories, which the exporter writes as chains of tests for equality.

    Regions go beyond the 32 whole numbers that onnxruntime keeps in one mask, floors below zero,
    where LightGBM and onnxruntime both see no category. Some rows hold neither a known category
    nor a number.
    """
    features, y = houses()
    targets = {"regressor": y, "binary": (y > 0) * 1, "3class": np.digitize(y, [-1.0, 1.0])}
    rows = sample(features).reset_index(drop=True)
    rows.loc[:3, "region"] = [np.nan, 77, -1, 32]
    rows.loc[4:6, "floor"] = [np.nan, 9, -2]
    for kind, target in targets.items():
        model = (LGBMRegressor if kind == "regressor" else LGBMClassifier)(
            **LIGHTGBM, max_cat_to_onehot=2, min_data_per_group=5, cat_smooth=1
        )
        model.fit(features.to_numpy(), target, categorical_feature=[0, 2])
        exported = convert_lightgbm(model, initial_types=matrix(features), zipmap=False)
        answers = answers_of(model, rows.to_numpy(), raw={"raw_score": True})
        yield f"lightgbm_categorical_{kind}", exported, rows, answers


def houses() -> tuple[pd.DataFrame, Any]:
    """Made-up houses: a region and a floor are categories, an area and an age are numbers."""
    rng = np.random.default_rng(7)
    n = 1500
    region, floor = rng.integers(0, 40, n), rng.integers(0, 7, n)
    area, age = rng.normal(size=n).round(2), rng.uniform(0, 60, n).round(1)
    age[rng.random(n) < 0.1] = np.nan
    worth = rng.normal(size=40)[region] + area * np.where(floor % 2, 1, -0.5)
    y = worth + 0.02 * np.nan_to_num(age, nan=30) * (region % 3 == 0) + 0.1 * rng.normal(size=n)
    columns = {"region": region, "area": area, "floor": floor, "age": age}
    return pd.DataFrame(columns).astype(np.float32), y


def xgboost(kind: str, features: pd.DataFrame, y) -> Iterator[Fixture]:
    model = (XGBRegressor if kind == "regressor" else XGBClassifier)(**XGBOOST)
    model.fit(features.to_numpy(), y)
    rows = sample(features)
    answers = answers_of(model, rows.to_numpy(), raw={"output_margin": True})
    yield f"xgboost_{kind}", convert_xgboost(model, initial_types=matrix(features)), rows, answers


def xgboost_file() -> Fixture:
    """A model that comes as a file of its own, as R's xgb.save() writes it."""
    data = load_iris(as_frame=True)
    features = data.data.astype(np.float32)
    parameters = {"objective": "multi:softprob", "num_class": 3, "max_depth": 3, "seed": 1}
    booster = train(parameters, DMatrix(features, label=data.target), 15)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        booster.save_model(path)
        loaded = Booster(model_file=path)
    loaded.feature_names = None  # onnxmltools wants f0, f1, ...
    inputs = [("input", FloatTensorType([None, loaded.num_features()]))]
    exported = convert_xgboost(loaded, initial_types=inputs)
    rows = sample(features)
    answers = {
        "output_names": ["0", "1", "2"],
        "response": booster.predict(DMatrix(rows)),
        "margin": booster.predict(DMatrix(rows), output_margin=True),
    }
    return "xgboost_file", exported, rows, answers


def catboost(kind: str, features: pd.DataFrame, y) -> Iterator[Fixture]:
    model = (CatBoostRegressor if kind == "regressor" else CatBoostClassifier)(**CATBOOST)
    model.fit(features.to_numpy(), y)
    rows = sample(features)
    answers = answers_of(model, rows.to_numpy(), raw={"prediction_type": "RawFormulaVal"})
    answers["output_names"] = ["predictions"] if kind == "regressor" else answers["output_names"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        model.save_model(str(path), format="onnx")
        exported = onnx.load(path)
        exported.producer_version = catboost_version  # it writes the commit and its author
        yield f"catboost_{kind}", exported, rows, answers


def answers_of(model, rows, *, raw: dict[str, Any]) -> dict[str, Any]:
    if not hasattr(model, "predict_proba"):
        return {"output_names": ["variable"], "response": model.predict(rows), "margin": None}
    scores = np.asarray(model.predict(rows, **raw))
    return {
        "output_names": [str(label) for label in model.classes_],
        "response": model.predict_proba(rows),
        "margin": np.column_stack([-scores, scores]) if scores.ndim == 1 else scores,
    }


def matrix(features: pd.DataFrame) -> list[tuple[str, FloatTensorType]]:
    return [("X", FloatTensorType([None, features.shape[1]]))]


def sample(features: pd.DataFrame) -> pd.DataFrame:
    return features.sample(40, random_state=1)
