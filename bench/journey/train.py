"""Train models of many kinds, and write each as its users would: as ONNX, or by its library.

    .venv-models/bin/python bench/journey/train.py FOLDER

writes NAME.onnx, .json, .ubj or .txt, its rows with the targets as NAME.csv, what its library
predicts for them as NAME.expected.csv, and NAME.facts.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor, Pool
from lightgbm import LGBMClassifier, LGBMRanker, LGBMRegressor
from skl2onnx import to_onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

ROOT = Path(__file__).parents[2]
SEED = 1
MISSING_SHARE = 0.1
QUANTILES = (0.1, 0.5, 0.9)


class Trained(NamedTuple):
    """A fitted model with its rows.

    Attributes
    ----------
    kind : str
        What it is, for a table.
    rows : DataFrame
        Features.
    targets : DataFrame
        True values, a column or several.
    predicted : (n_rows,) or (n_rows, n_outputs)
        By its library.
    ending : str
        Of its file.
    write : callable (Path) -> None
    """

    kind: str
    rows: pd.DataFrame
    targets: pd.DataFrame
    predicted: Any
    ending: str
    write: Callable[[Path], object]


def table(load: Callable[..., Any], **options: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of a table of scikit-learn in float32, with plain names, and its target."""
    data = load(as_frame=True, **options)
    rows = data.data.astype(np.float32)
    rows.columns = [name.replace(" ", "_").replace("/", "_") for name in rows]
    return rows, data.target.to_frame("target")


def as_onnx(model: Any, rows: pd.DataFrame, number: Any = FloatTensorType) -> bytes:
    """Convert a model on one matrix of numbers, and name its columns."""
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    types = [("rows", number([None, rows.shape[1]]))]
    made = to_onnx(model, initial_types=types, options=options)
    made.metadata_props.add(key="feature_names", value=json.dumps(list(rows)))
    return bytes(made.SerializeToString())


def exported(kind: str, model: Any, rows: pd.DataFrame, targets: pd.DataFrame) -> Trained:
    """Fit a model of scikit-learn on a matrix of float32."""
    matrix = rows.to_numpy()
    model.fit(matrix, targets.to_numpy().squeeze())
    is_classifier = hasattr(model, "predict_proba")
    predicted = model.predict_proba(matrix) if is_classifier else model.predict(matrix)
    content = as_onnx(model, rows)
    return Trained(kind, rows, targets, predicted, "onnx", lambda path: path.write_bytes(content))


def saved(kind: str, model: Any, ending: str, rows: Any, targets: pd.DataFrame) -> Trained:
    """Fit a model of XGBoost, which saves itself."""
    model.fit(rows, targets["target"])
    is_classifier = hasattr(model, "predict_proba")
    predicted = model.predict_proba(rows) if is_classifier else model.predict(rows)
    return Trained(kind, rows, targets, predicted, ending, model.save_model)


def lightgbm(
    kind: str, model: Any, rows: pd.DataFrame, targets: pd.DataFrame, **fitting: Any
) -> Trained:
    """Fit a model of LightGBM, which saves itself as text."""
    model.fit(rows, targets["target"], **fitting)
    booster = model.booster_
    return Trained(kind, rows, targets, booster.predict(rows), "txt", booster.save_model)


def regression_boosting() -> Trained:
    model = GradientBoostingRegressor(random_state=SEED)
    return exported("boosted trees, regression", model, *table(load_diabetes, scaled=False))


def binary_forest() -> Trained:
    model = RandomForestClassifier(100, random_state=SEED)
    return exported("random forest, two classes", model, *table(load_breast_cancer))


def classes_boosting() -> Trained:
    model = GradientBoostingClassifier(random_state=SEED)
    return exported("boosted trees, three classes", model, *table(load_wine))


def network() -> Trained:
    layers = MLPRegressor(hidden_layer_sizes=(16,), alpha=1.0, max_iter=3_000, random_state=SEED)
    model = make_pipeline(StandardScaler(), layers)
    return exported("neural network, regression", model, *table(load_diabetes, scaled=False))


def several_targets() -> Trained:
    rows, target = table(load_diabetes, scaled=False)
    targets = pd.DataFrame(
        {"t0": target["target"], "t1": rows["bmi"] * rows["bp"], "t2": -target["target"] / 2}
    )
    model = RandomForestRegressor(60, min_samples_leaf=5, random_state=SEED)
    return exported("random forest, three targets", model, rows, targets)


def isotonic_calibration() -> Trained:
    model = CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=3)
    return exported("isotonic calibration", model, *table(load_breast_cancer))


def doubles_pipeline() -> Trained:
    return doubles("pipeline of doubles, as DoubleTensorType", DoubleTensorType)


def doubles_as_floats() -> Trained:
    return doubles("pipeline of doubles, as FloatTensorType", FloatTensorType)


def doubles(kind: str, number: Any) -> Trained:
    """Fit trees behind scaled doubles, whose thresholds lie between numbers that float32 rounds."""
    rows, targets = table(load_diabetes, scaled=False)
    noise = np.random.default_rng(SEED).normal(size=rows.shape)
    rows = rows.astype(np.float64) + 1e-9 * noise
    model = make_pipeline(StandardScaler(), GradientBoostingRegressor(random_state=SEED))
    model.fit(rows.to_numpy(), targets["target"])
    content = as_onnx(model, rows, number)
    predicted = model.predict(rows.to_numpy())
    return Trained(kind, rows, targets, predicted, "onnx", lambda path: path.write_bytes(content))


def text_pipeline() -> Trained:
    lines = pd.read_csv(
        ROOT / "bench" / "data" / "sms_spam.tsv.gz", sep="\t", quoting=3, names=["target", "text"]
    )[:2_000]
    rows = lines[["text"]].fillna("")
    words = TfidfVectorizer(min_df=3, token_pattern="[a-zA-Z]+")  # noqa: S106 - no password
    front = ColumnTransformer([("words", words, "text")])
    model = make_pipeline(front, LogisticRegression())
    model.fit(rows, lines["target"])
    options = {id(model): {"zipmap": False}, id(words): {"tokenexp": "[a-zA-Z]+"}}
    types = [("text", StringTensorType([None, 1]))]
    content = to_onnx(model, initial_types=types, options=options).SerializeToString()
    predicted = model.predict_proba(rows)
    kind = "words of a text, two classes"
    targets = lines[["target"]]
    return Trained(kind, rows, targets, predicted, "onnx", lambda path: path.write_bytes(content))


def binary_xgboost() -> Trained:
    rows, targets = table(load_breast_cancer)
    rows = rows.mask(np.random.default_rng(SEED).random(rows.shape) < MISSING_SHARE)
    model = XGBClassifier(n_estimators=60, max_depth=3, random_state=SEED)
    return saved("two classes, missing values", model, "json", rows, targets)


def dart_xgboost() -> Trained:
    model = XGBRegressor(
        booster="dart", rate_drop=0.1, n_estimators=60, max_depth=3, random_state=SEED
    )
    return saved("dart, regression", model, "ubj", *table(load_diabetes, scaled=False))


def quantiles_xgboost() -> Trained:
    model = XGBRegressor(
        objective="reg:quantileerror",
        quantile_alpha=list(QUANTILES),
        n_estimators=60,
        max_depth=3,
        random_state=SEED,
    )
    return saved("three quantiles", model, "json", *table(load_diabetes, scaled=False))


def classes_lightgbm() -> Trained:
    model = LGBMClassifier(n_estimators=40, num_leaves=8, random_state=SEED, verbose=-1)
    return lightgbm("three classes", model, *table(load_wine))


def counts_lightgbm() -> Trained:
    rows, targets = table(load_diabetes, scaled=False)
    counts = np.random.default_rng(SEED).poisson(targets / 30)
    model = LGBMRegressor(
        objective="poisson", n_estimators=60, num_leaves=8, random_state=SEED, verbose=-1
    )
    return lightgbm("counts (Poisson)", model, rows, pd.DataFrame({"target": counts[:, 0]}))


def ranking_lightgbm() -> Trained:
    random = np.random.default_rng(SEED)
    rows = pd.DataFrame(
        random.normal(size=(1_200, 5)), columns=["match", "age", "length", "clicks", "links"]
    ).astype(np.float32)
    score = 2 * rows["match"] + rows["clicks"] - 0.5 * rows["age"] * rows["links"]
    grades = np.digitize(score + random.normal(size=len(rows)), [-1, 1, 3])
    model = LGBMRanker(n_estimators=60, num_leaves=8, random_state=SEED, verbose=-1)
    return lightgbm(
        "ranking of documents",
        model,
        rows,
        pd.DataFrame({"target": grades}),
        group=[12] * (len(rows) // 12),
    )


def categories_catboost() -> Trained:
    random = np.random.default_rng(SEED)
    rows = pd.DataFrame(
        {
            "area": random.integers(30, 160, 800).astype(np.float32),
            "age": random.integers(0, 90, 800).astype(np.float32),
            "region": random.choice(["north", "south", "east", "west"], 800),
            "heating": random.choice(["gas", "oil", "heat pump"], 800),
        }
    )
    rent = 9 * rows["area"] - 2 * rows["age"] + 200 * (rows["region"] == "south")
    rent += 150 * (rows["heating"] == "heat pump") + random.normal(0, 40, 800)
    texts = ["region", "heating"]
    model = CatBoostRegressor(
        iterations=80,
        depth=4,
        one_hot_max_size=10,
        cat_features=texts,
        random_seed=SEED,
        verbose=0,
    )
    model.fit(rows, rent)
    pool = Pool(rows, rent, cat_features=texts)
    targets = rent.to_frame("target")
    return Trained(
        "categories, regression",
        rows,
        targets,
        model.predict(rows),
        "json",
        lambda path: model.save_model(str(path), format="json", pool=pool),
    )


MODELS = (
    *(regression_boosting, binary_forest, classes_boosting, network, several_targets),
    *(isotonic_calibration, doubles_pipeline, doubles_as_floats, text_pipeline),
    *(binary_xgboost, dart_xgboost, quantiles_xgboost),
    *(classes_lightgbm, counts_lightgbm, ranking_lightgbm, categories_catboost),
)


def written(folder: Path, name: str, trained: Trained, seconds: float) -> None:
    """Write a model with its table, and what its library predicts."""
    trained.write(folder / f"{name}.{trained.ending}")
    pd.concat([trained.rows, trained.targets], axis=1).to_csv(folder / f"{name}.csv", index=False)
    values = np.asarray(trained.predicted, dtype=np.float64)
    columns = values.reshape(len(values), -1)
    pd.DataFrame(columns, columns=[f"p{k}" for k in range(columns.shape[1])]).to_csv(
        folder / f"{name}.expected.csv", index=False
    )
    facts = {
        "kind": trained.kind,
        "file": f"{name}.{trained.ending}",
        "targets": list(trained.targets),
        "seconds": seconds,
    }
    (folder / f"{name}.facts.json").write_text(json.dumps(facts))


def train(folder: Path, models: tuple[Callable[[], Trained], ...]) -> None:
    """Train and write models; one that cannot be has its reason in place of a file."""
    for make in models:
        name, began = make.__name__, time.process_time()
        try:
            trained = make()
            written(folder, name, trained, time.process_time() - began)
        except Exception as error:  # noqa: BLE001 - what a library refuses is what is told
            reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
            (folder / f"{name}.facts.json").write_text(
                json.dumps({"kind": name, "failure": reason})
            )


if __name__ == "__main__":
    train(Path(sys.argv[1]), MODELS)
