"""Explainable boosting machines of interpret, written by ebm2onnx: terms of one or two columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ebm2onnx  # type: ignore[import-not-found]
import numpy as np
import onnx
import pandas as pd
from interpret import glassbox  # type: ignore[import-not-found]
from sklearn.datasets import load_diabetes

Fixture = tuple[str, onnx.ModelProto, pd.DataFrame, dict[str, Any]]
LIVER = Path(__file__).parents[1] / "data" / "indian_liver_patient.csv"
SIZE = {"interactions": 3, "max_bins": 16, "max_interaction_bins": 8, "max_rounds": 60}
TRAINING = SIZE | {"outer_bags": 2, "n_jobs": 1, "random_state": 1}


def fixtures() -> Iterator[Fixture]:
    diabetes = load_diabetes(as_frame=True)
    columns = diabetes.data.iloc[:, 2:7].round(4).astype(np.float32)
    model = glassbox.ExplainableBoostingRegressor(**TRAINING).fit(columns, diabetes.target)
    model.classes_ = [0, 1]  # the exporter asks for them where there are terms of two columns
    rows = columns.iloc[::40]
    answers = {"output_names": ["prediction"], "response": model.predict(rows)}
    yield "interpret_regressor", exported(model, columns), rows, answers | {"margin": None}
    liver = pd.read_csv(LIVER)
    columns = liver.iloc[:, :6].astype(dict.fromkeys(liver.columns[[0, 2, 3, 4, 5]], np.float32))
    columns["Gender"] = columns["Gender"].astype(object)
    model = glassbox.ExplainableBoostingClassifier(**TRAINING).fit(columns, liver["liver_patient"])
    rows = columns.iloc[::40]
    scores = model.decision_function(rows)
    answers = {
        "output_names": ["0", "1"],
        "response": model.predict_proba(rows),
        "margin": np.column_stack([-scores, scores]),
    }
    yield "interpret_binary", exported(model, columns, predict_proba=True), rows, answers


def exported(model: Any, columns: pd.DataFrame, **options: Any) -> onnx.ModelProto:
    kinds = ebm2onnx.get_dtype_from_pandas(columns)
    proto: onnx.ModelProto = ebm2onnx.to_onnx(model, dtype=kinds, **options)
    return proto
