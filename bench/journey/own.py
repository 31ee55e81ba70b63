"""Train what skl2onnx does not write, and write it by `onnxplain.export`; see `train` for files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxplain
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest

_SEED = 1
_MISSING_SHARE = 0.1


class Fitted(NamedTuple):
    """A fitted model with its rows, and what it predicts for them."""

    kind: str
    model: Any
    rows: pd.DataFrame
    targets: pd.DataFrame
    predicted: Any


def missing_histogram() -> Fitted:
    data = load_diabetes(as_frame=True, scaled=False)
    is_missing = np.random.default_rng(_SEED).random(data.data.shape) < _MISSING_SHARE
    rows = data.data.mask(is_missing)
    model = HistGradientBoostingRegressor(max_iter=60, random_state=_SEED).fit(rows, data.target)
    kind = "histogram boosting, missing values"
    return Fitted(kind, model, rows, data.target.to_frame("target"), model.predict(rows))


def isolation_forest() -> Fitted:
    data = load_breast_cancer(as_frame=True)
    rows = data.data.iloc[:, :10]
    model = IsolationForest(n_estimators=50, random_state=_SEED).fit(rows)
    none = pd.DataFrame(index=rows.index)
    return Fitted("isolation forest, no target", model, rows, none, model.decision_function(rows))


_MODELS: tuple[Callable[[], Fitted], ...] = (missing_histogram, isolation_forest)


def train(folder: Path) -> None:
    """Train and write both."""
    for make in _MODELS:
        name, began = make.__name__, time.process_time()
        fitted = make()
        content = onnxplain.export(fitted.model, fitted.rows)
        facts: Mapping[str, Any] = {
            "kind": fitted.kind,
            "file": f"{name}.onnx",
            "targets": list(fitted.targets),
            "seconds": time.process_time() - began,
        }
        (folder / f"{name}.onnx").write_bytes(content)
        (folder / f"{name}.facts.json").write_text(json.dumps(facts))
        rows = pd.concat([fitted.rows, fitted.targets], axis=1)
        rows.to_csv(folder / f"{name}.csv", index=False)
        predicted = pd.DataFrame({"p0": fitted.predicted})
        predicted.to_csv(folder / f"{name}.expected.csv", index=False)
