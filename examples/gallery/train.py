"""Train the models of the gallery, and write each as ONNX beside rows that it has not seen.

Run with the environment of `make models`: .venv-models/bin/python examples/gallery/train.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

HERE = Path(__file__).parent
MIAMI = HERE.parent / "miami" / "miami_housing.csv.gz"
SEED = 0
_HELD_OUT = 0.3
_OPSETS = {"": 17, "ai.onnx.ml": 3}
_RAREST = 20
"""Rows of a category that has an input of its own."""


@dataclass(frozen=True)
class Study:
    """A table, and the model that is trained on it.

    Attributes
    ----------
    target : str
    make : callable () -> estimator
    table : Path or None
        None: of the study's name.
    left_out : tuple of str
        Columns that no feature is made of.
    is_scaled : bool
        Whether numbers are standardized before the model.
    """

    target: str
    make: Callable[[], Any]
    table: Path | None = None
    left_out: tuple[str, ...] = ()
    is_scaled: bool = False


STUDIES = {
    "adult": Study("income", lambda: GradientBoostingClassifier(max_depth=4, random_state=SEED)),
    "bank": Study("y", lambda: GradientBoostingClassifier(random_state=SEED)),
    "california": Study(
        "median_house_value", lambda: GradientBoostingRegressor(max_depth=5, random_state=SEED)
    ),
    "liver": Study(
        "liver_patient",
        lambda: MLPClassifier((16,), alpha=1.0, max_iter=2_000, random_state=SEED),
        is_scaled=True,
    ),
    "miami": Study(
        "SALE_PRC",
        lambda: GradientBoostingRegressor(max_depth=5, random_state=SEED),
        table=MIAMI,
        left_out=("PARCELNO",),
    ),
    "parkinsons": Study(
        "total_UPDRS",
        lambda: GradientBoostingRegressor(random_state=SEED),
        left_out=("motor_UPDRS", "subject"),
    ),
    "pima": Study("diabetes", lambda: LogisticRegression(max_iter=1_000), is_scaled=True),
    "spam": Study("spam", lambda: GradientBoostingClassifier(random_state=SEED)),
    "vertebral": Study(
        "class", lambda: RandomForestClassifier(100, min_samples_leaf=3, random_state=SEED)
    ),
    "wine": Study(
        "quality", lambda: RandomForestRegressor(50, min_samples_leaf=10, random_state=SEED)
    ),
}


def main() -> None:
    """Train and write all."""
    for name, study in STUDIES.items():
        trained, held_out = _rows(name, study)
        features = trained.drop(columns=study.target)
        model = _model(study, features)
        given = features if _texts(features) else features.to_numpy(np.float32)
        model.fit(given, trained[study.target])
        (HERE / f"{name}.onnx").write_bytes(_exported(model, features))
        held_out.to_csv(
            HERE / f"{name}.csv.gz", index=False, compression={"method": "gzip", "mtime": 0}
        )


def _rows(name: str, study: Study) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that a model is trained on, and those that it is explained on."""
    if name == "adult":  # its publisher has cut it
        trained, held_out = (
            _read(HERE / "data" / f"adult_{part}.csv.gz") for part in ("train", "test")
        )
        return trained, held_out
    frame = _read(study.table or HERE / "data" / f"{name}.csv.gz")
    frame = frame.drop(columns=list(study.left_out))
    held_out = frame.sample(frac=_HELD_OUT, random_state=SEED)
    return frame.drop(held_out.index), held_out


def _read(path: Path) -> pd.DataFrame:
    """Read a table: missing texts are the category "missing", missing numbers are medians."""
    frame = pd.read_csv(path)
    for column in frame:
        is_number = pd.api.types.is_numeric_dtype(frame[column])
        filler = frame[column].median() if is_number else "missing"
        frame[column] = frame[column].fillna(filler)
    return frame


def _texts(features: pd.DataFrame) -> list[str]:
    return [str(name) for name in features if not pd.api.types.is_numeric_dtype(features[name])]


def _model(study: Study, features: pd.DataFrame) -> Any:
    texts = _texts(features)
    if not texts:
        return make_pipeline(*([StandardScaler()] if study.is_scaled else []), study.make())
    numbers = [name for name in features if name not in texts]
    encoder = OneHotEncoder(handle_unknown="ignore", min_frequency=_RAREST)
    scaling = StandardScaler() if study.is_scaled else "passthrough"
    front = ColumnTransformer([("texts", encoder, texts), ("numbers", scaling, numbers)])
    return make_pipeline(front, study.make())


def _exported(model: Any, features: pd.DataFrame) -> bytes:
    """Write a pipeline: with texts an input for each column, otherwise a matrix and its names."""
    texts = _texts(features)
    inputs: list[tuple[str, Any]] = [("rows", FloatTensorType([None, features.shape[1]]))]
    if texts:
        inputs = [
            (str(name), (StringTensorType if name in texts else FloatTensorType)([None, 1]))
            for name in features
        ]
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    made = to_onnx(model, initial_types=inputs, options=options, target_opset=_OPSETS)
    if not texts:
        made.metadata_props.add(key="feature_names", value=json.dumps(list(features)))
    return bytes(made.SerializeToString())


if __name__ == "__main__":
    main()
