"""Train ten models of usual kinds, and write each as NAME.onnx with its rows as NAME.csv.

Usage: python train.py FOLDER, in the environment of requirements/models.txt. The tables have the
features, the true values in the column "target", and the library's predictions in "predicted".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as BoostedInput
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from xgboost import XGBRegressor

TEXT = ["work", "region"]


def people() -> pd.DataFrame:
    """Make people with an income in text, and a rent: two columns of text, three of numbers."""
    random = np.random.default_rng(5)
    n = 600
    rows = pd.DataFrame(
        {
            "age": random.integers(18, 80, n).astype(float),
            "hours": random.normal(38, 10, n).round(1),
            "education": random.integers(1, 17, n).astype(float),
            "work": random.choice(["private", "state", "own business"], n),
            "region": random.choice(["north", "south", "east", "west"], n),
        }
    )
    score = 0.05 * (rows["age"] - 45) + 0.3 * (rows["education"] - 9) + (rows["work"] == "state")
    chance = 1 / (1 + np.exp(-score - 0.4 * (rows["region"] == "south") * (rows["education"] - 9)))
    rows["income"] = np.where(random.random(n) < chance, ">50K", "<=50K")
    in_south = rows["region"] == "south"
    rows["rent"] = 400 + 5 * rows["age"] + 200 * in_south + random.normal(0, 30, n)
    return rows


def of_columns(model: Any, rows: pd.DataFrame) -> Any:
    """Convert a pipeline on columns: one input for each."""
    types = [
        (name, StringTensorType([None, 1]) if name in TEXT else FloatTensorType([None, 1]))
        for name in rows.columns
    ]
    options = {"zipmap": False} if hasattr(model, "predict_proba") else {}
    return to_onnx(model, initial_types=types, options=options)


def of_matrix(model: Any, rows: pd.DataFrame) -> onnx.ModelProto:
    """Convert a model on one matrix, and name its features."""
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    return named(to_onnx(model, rows.to_numpy(np.float32)[:1], options=options), rows)


def named(model: onnx.ModelProto, rows: pd.DataFrame) -> onnx.ModelProto:
    """Add the names of the columns, by which they are found in a table."""
    model.metadata_props.add(key="feature_names", value=json.dumps(list(rows.columns)))
    return model


def prepared(final: Any) -> Any:
    """Put text columns as indicators in front of a model."""
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), TEXT), remainder=StandardScaler()
    )
    return make_pipeline(encoder, final)


def pipelines() -> Iterator[tuple[str, Any, pd.DataFrame, Any, Callable[..., Any]]]:
    """Give models on text and numbers."""
    rows = people()
    features = rows.drop(columns=["income", "rent"])
    yield "income_logistic", prepared(LogisticRegression()), features, rows["income"], of_columns
    forest = RandomForestRegressor(60, min_samples_leaf=5, random_state=1)
    yield "rent_forest", prepared(forest), features, rows["rent"], of_columns


def boosted() -> Iterator[tuple[str, Any, pd.DataFrame, Any, Callable[..., Any]]]:
    """Give gradient boosting by three libraries."""
    cancer = load_breast_cancer(as_frame=True)
    light = LGBMClassifier(n_estimators=40, num_leaves=8, random_state=1, verbose=-1)
    yield "cancer_lightgbm", light, cancer.data, cancer.target, by_lightgbm
    diabetes = load_diabetes(as_frame=True, scaled=False)
    extreme = XGBRegressor(n_estimators=40, max_depth=3, random_state=1)
    yield "diabetes_xgboost", extreme, diabetes.data, diabetes.target, by_xgboost
    wine = load_wine(as_frame=True)
    cat = CatBoostClassifier(iterations=40, depth=3, random_seed=1, verbose=0)
    yield "wine_catboost", cat, wine.data, wine.target, by_catboost


def by_lightgbm(model: Any, rows: pd.DataFrame) -> onnx.ModelProto:
    """Convert a model of LightGBM."""
    types = [("X", BoostedInput([None, rows.shape[1]]))]
    return named(convert_lightgbm(model, initial_types=types, zipmap=False), rows)


def by_xgboost(model: Any, rows: pd.DataFrame) -> onnx.ModelProto:
    """Convert a model of XGBoost."""
    types = [("X", BoostedInput([None, rows.shape[1]]))]
    return named(convert_xgboost(model, initial_types=types), rows)


def by_catboost(model: Any, rows: pd.DataFrame) -> onnx.ModelProto:
    """Convert a model of CatBoost, which exports itself."""
    model.save_model("catboost.onnx", format="onnx")
    converted = onnx.load("catboost.onnx")
    Path("catboost.onnx").unlink()
    return named(converted, rows)


def others() -> Iterator[tuple[str, Any, pd.DataFrame, Any, Callable[..., Any]]]:
    """Give models that are no trees."""
    cancer = load_breast_cancer(as_frame=True)
    few = cancer.data.iloc[:, :10]
    network = make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=300, random_state=1))
    yield "cancer_network", network, few, cancer.target, of_matrix
    wine = load_wine(as_frame=True)
    machine = make_pipeline(StandardScaler(), SVC(probability=True, random_state=1))
    yield "wine_support_vectors", machine, wine.data, wine.target, of_matrix
    diabetes = load_diabetes(as_frame=True, scaled=False)
    neighbours = make_pipeline(StandardScaler(), KNeighborsRegressor(15))
    yield "diabetes_neighbours", neighbours, diabetes.data, diabetes.target, of_matrix
    kernel = RBF(10.0) + WhiteKernel(1.0)
    process = make_pipeline(
        StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=1)
    )
    yield "diabetes_gaussian_process", process, diabetes.data, diabetes.target, of_matrix
    line = make_pipeline(StandardScaler(), LogisticRegression())
    yield "wine_logistic", line, wine.data, wine.target, of_matrix


def main() -> None:
    """Train and write all models."""
    folder = Path(sys.argv[1])
    for name, model, features, target, convert in (*pipelines(), *boosted(), *others()):
        numbers = features.select_dtypes("number").columns
        rows = features.astype(dict.fromkeys(numbers, np.float32))
        fed = rows if TEXT[0] in rows else rows.to_numpy()
        model.fit(fed, target)
        onnx.save(convert(model, rows), folder / f"{name}.onnx")
        is_classifier = hasattr(model, "predict_proba")
        predicted = model.predict_proba(fed)[:, 1] if is_classifier else model.predict(fed)
        table = rows.assign(target=target, predicted=np.asarray(predicted))
        table.to_csv(folder / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
