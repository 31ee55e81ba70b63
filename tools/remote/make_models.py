"""Fits small models by seed, and writes them for one server; runs where that server is installed.

Usage: make_models.py kserve|mlserver|mlflow FOLDER

The folder gets the models as the server loads them, and `expected.json`: for each model rows, by
column or as a matrix, and what the model itself predicts for them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

_SEED = 29
_ROW_COUNT = 300
_FEATURES = ["a", "b", "c", "d", "e"]


def matrix() -> np.ndarray[Any, Any]:
    """Return rows of five features."""
    return np.random.default_rng(_SEED).normal(size=(_ROW_COUNT, len(_FEATURES)))


def table() -> pd.DataFrame:
    """Return rows of a text, a whole number, and a number that is missing in some."""
    draws = np.random.default_rng(_SEED)
    income = draws.lognormal(size=_ROW_COUNT)
    income[draws.random(_ROW_COUNT) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "city": draws.choice(["Ulm", "Köln", "Bad Ems"], size=_ROW_COUNT).astype(object),
            "age": draws.integers(18, 90, size=_ROW_COUNT),
            "income": income,
        }
    )


def fit() -> dict[str, Any]:
    """Return fitted models by name."""
    rows, people = matrix(), table()
    level = rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2])
    with_gaps = np.where(np.abs(rows) > 2, np.nan, rows)
    classes = np.digitize(level, [-0.5, 0.5])
    forest = RandomForestClassifier(n_estimators=20, max_depth=4, random_state=_SEED)
    boosted = HistGradientBoostingRegressor(max_iter=20, random_state=_SEED)
    encoder = ColumnTransformer(
        [("city", OneHotEncoder(sparse_output=False), ["city"])], remainder="passthrough"
    )
    by_column = make_pipeline(
        encoder, HistGradientBoostingRegressor(max_iter=20, random_state=_SEED)
    )
    wealth = people["income"].fillna(3) * (1 + (people["city"] == "Ulm")) + people["age"] / 50
    animals = np.array(["ant", "bee", "cow"])[classes]
    return {
        "forest": forest.fit(rows, classes),
        "boosted": boosted.fit(with_gaps, level),
        "people": by_column.fit(people, wealth),
        "animals": LogisticRegression().fit(rows, animals),
    }


def expected(models: dict[str, Any]) -> dict[str, Any]:
    """Return rows and predictions of each model."""
    rows, people = matrix(), table()
    gaps = np.where(np.abs(rows) > 2, np.nan, rows)
    return {
        "forest": {"rows": rows, "predictions": models["forest"].predict_proba(rows)},
        "boosted": {"rows": gaps, "predictions": models["boosted"].predict(gaps)[:, None]},
        "people": {
            "columns": {name: people[name].tolist() for name in people},
            "predictions": models["people"].predict(people)[:, None],
        },
        "animals": {"rows": rows, "predictions": models["animals"].predict_proba(rows)},
    }


def for_kserve(folder: Path, models: dict[str, Any]) -> None:
    """Write files that `kserve_program.py` loads."""
    for name, model in models.items():
        joblib.dump(model, folder / f"{name}.joblib")


def for_mlserver(folder: Path, models: dict[str, Any]) -> dict[str, Any]:
    """Write a folder per model; return rows and predictions of XGBoost's models."""
    import xgboost  # noqa: PLC0415 - installed beside MLServer alone

    rows, further = matrix(), {}
    inputs: list[dict[str, Any]] = [
        {"name": "rows", "datatype": "FP64", "shape": [-1, len(_FEATURES)]}
    ]
    by_column: list[dict[str, Any]] = [
        {"name": "city", "datatype": "BYTES", "shape": [-1], "parameters": {"content_type": "str"}},
        {"name": "age", "datatype": "INT64", "shape": [-1]},
        {"name": "income", "datatype": "FP64", "shape": [-1]},
    ]
    for name, model in models.items():
        home = folder / name
        home.mkdir()
        joblib.dump(model, home / "model.joblib")
        told = by_column if name == "people" else inputs
        _settings(home, "mlserver_sklearn.SKLearnModel", "model.joblib", told)
    level = rows[:, 0] - rows[:, 1] ** 2
    for name, kind, target in (
        ("xgboost_regressor", xgboost.XGBRegressor, level),
        ("xgboost_classifier", xgboost.XGBClassifier, (level > -0.5).astype(int)),
    ):
        home = folder / name
        home.mkdir()
        model = kind(n_estimators=10, max_depth=3, random_state=_SEED).fit(rows, target)
        model.save_model(home / "model.json")
        _settings(home, "mlserver_xgboost.XGBoostModel", "model.json", inputs)
        answer = model.predict(rows)[:, None] if kind is xgboost.XGBRegressor else None
        predictions = model.predict_proba(rows) if answer is None else answer
        further[name] = {"rows": rows, "predictions": predictions}
    return further


def _settings(home: Path, implementation: str, file: str, inputs: list[dict[str, Any]]) -> None:
    settings = {
        "name": home.name,
        "implementation": implementation,
        "parameters": {"uri": str(home / file), "version": "v1"},
        "inputs": inputs,
    }
    (home / "model-settings.json").write_text(json.dumps(settings))


def for_mlflow(folder: Path, models: dict[str, Any]) -> None:
    """Write models as MLflow logs them; classifiers predict probabilities, but for one."""
    import mlflow.sklearn  # noqa: PLC0415 - installed in its own environment alone

    for name, model in models.items():
        function = "predict_proba" if name == "forest" else "predict"
        mlflow.sklearn.save_model(
            model,
            str(folder / name),
            pyfunc_predict_fn=function,
            serialization_format="pickle",
            pip_requirements=["scikit-learn"],
        )


def main() -> None:
    """Write what one server needs."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    models = fit()
    truth = expected(models)
    if kind == "kserve":
        for_kserve(folder, models)
    elif kind == "mlserver":
        truth |= for_mlserver(folder, models)
    else:
        for_mlflow(folder, models)
    (folder / "expected.json").write_text(json.dumps(truth, default=np.ndarray.tolist))


if __name__ == "__main__":
    main()
