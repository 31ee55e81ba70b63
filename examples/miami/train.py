"""Train the model of house prices in Miami, and write it as ONNX.

Features and settings are those of the README of the R package hstats, so that its reading can be
compared, with two differences. It boosts with XGBoost, this with LightGBM; and it takes the
logarithm of the distance to the ocean, which trees do not need: they see only the order of values.

Run with the environment of `make models`: .venv-models/bin/python examples/miami/train.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
from lightgbm import LGBMRegressor, early_stopping
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType

HERE = Path(__file__).parent
FEATURES = ["OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold"]
TARGET = "SALE_PRC"
OUTPUT = "log_SALE_PRC"
SEED = 1
TRAINED_SHARE = 0.8


def main() -> None:
    table = pd.read_csv(HERE / "miami_housing.csv.gz")
    features = table[FEATURES].astype(np.float32)  # the exported model compares in float32
    target = np.log(table[TARGET])
    trained = np.random.default_rng(SEED).permutation(len(table)) < TRAINED_SHARE * len(table)
    model = fit(features[trained], target[trained], features[~trained], target[~trained])
    error = np.mean((model.predict(features[~trained]) - target[~trained]) ** 2)
    print(f"{model.best_iteration_} trees, mean squared error on held-out houses {error:.4f}")
    content = export(model).SerializeToString(deterministic=True)
    (HERE / "miami.onnx").write_bytes(content)
    print(f"miami.onnx: {len(content) / 1e3:.0f} kB")


def fit(
    features: pd.DataFrame, target: pd.Series, held_out: pd.DataFrame, held_out_target: pd.Series
) -> LGBMRegressor:
    """Boost until the held-out houses have not been predicted better for 20 trees."""
    model = LGBMRegressor(
        n_estimators=1000,
        learning_rate=0.15,
        max_depth=5,
        random_state=SEED,
        deterministic=True,
        n_jobs=1,
        verbose=-1,
    )
    stop = early_stopping(stopping_rounds=20, verbose=False)
    model.fit(features, target, eval_X=held_out, eval_y=held_out_target, callbacks=[stop])
    return model


def export(model: LGBMRegressor) -> onnx.ModelProto:
    """One float32 matrix in, in the order of FEATURES; one column out, named OUTPUT."""
    types = [("features", FloatTensorType([None, len(FEATURES)]))]
    exported: onnx.ModelProto = convert_lightgbm(model, name="miami", initial_types=types)
    exported.opset_import.sort(key=lambda opset: opset.domain)  # else in the order of hashes
    for node in exported.graph.node:
        node.attribute.sort(key=lambda attribute: attribute.name)
        node.output[:] = [OUTPUT if name == "variable" else name for name in node.output]
    exported.graph.output[0].name = OUTPUT
    onnx.helper.set_model_props(exported, {"feature_names": json.dumps(FEATURES)})
    return exported


if __name__ == "__main__":
    main()
