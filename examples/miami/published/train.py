"""Train the model of house prices in Miami that the README of the R package hstats shows.

Same learner, settings, split, and rows drawn for the statistics, so that the numbers can be
compared digit by digit. hstats takes the logarithm of the distance to the ocean; so does the
training here, and the thresholds are then brought back to feet, which changes no prediction.

Run with the environment of `make models`: .venv-models/bin/python examples/miami/published/train.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pandas as pd
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from r_sample import RSample  # type: ignore[import-not-found]  # beside this script
from xgboost import XGBRegressor

HERE = Path(__file__).parent
FEATURES = ["OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold"]
LOGARITHMIC = 0
TARGET = "SALE_PRC"
OUTPUT = "log_SALE_PRC"
TRAINED_SHARE = 0.8
SPLIT_SEED = 1
ROWS_SEED = 782
ROW_COUNT = 500

Rows = npt.NDArray[np.float64]


def main() -> None:
    table = pd.read_csv(HERE.parent / "miami_housing.csv.gz")
    features = table[FEATURES].to_numpy(dtype=np.float64)
    target = np.log(table[TARGET].to_numpy())
    trained = RSample(SPLIT_SEED).draw(len(table), int(TRAINED_SHARE * len(table)))
    held_out = np.setdiff1d(np.arange(len(table)), trained)
    model = fit(features[trained], target[trained], features[held_out], target[held_out])
    rows = trained[RSample(ROWS_SEED).draw(len(trained), ROW_COUNT)]
    table.loc[rows, FEATURES].to_csv(HERE / "rows.csv", index=False, lineterminator="\n")
    content = export(model).SerializeToString(deterministic=True)
    (HERE / "miami_xgboost.onnx").write_bytes(content)
    predicted = predict(content, features)
    # The two add up leaves in different orders; a row on the wrong side of a split would show.
    np.testing.assert_allclose(predicted, model.predict(with_logarithm(features)), atol=5e-5)
    error = np.mean((predicted[held_out] - target[held_out]) ** 2)
    print(f"{model.best_iteration + 1} trees, mean squared error on held-out houses {error:.4f}")
    print(f"miami_xgboost.onnx: {len(content) / 1e3:.0f} kB")


def with_logarithm(features: Rows) -> Rows:
    return np.insert(
        np.delete(features, LOGARITHMIC, axis=1),
        LOGARITHMIC,
        np.log(features[:, LOGARITHMIC]),
        axis=1,
    )


def fit(features: Rows, target: Rows, held_out: Rows, held_out_target: Rows) -> XGBRegressor:
    """Boost with exact splits, the default of XGBoost when hstats' README was written."""
    model = XGBRegressor(
        n_estimators=1000,
        learning_rate=0.15,
        max_depth=5,
        tree_method="exact",
        base_score=0.5,
        early_stopping_rounds=20,
        n_jobs=1,
    )
    seen = [(with_logarithm(held_out), held_out_target)]
    return model.fit(with_logarithm(features), target, eval_set=seen, verbose=False)


def export(model: XGBRegressor) -> onnx.ModelProto:
    """One float32 matrix in, in the order of FEATURES; one column out, named OUTPUT."""
    types = [("features", FloatTensorType([None, len(FEATURES)]))]
    exported: onnx.ModelProto = convert_xgboost(model, "miami", initial_types=types)
    exported.opset_import.sort(key=lambda opset: opset.domain)  # else in the order of hashes
    (trees,) = exported.graph.node
    to_feet(trees)
    trees.attribute.sort(key=lambda attribute: attribute.name)
    trees.output[:] = [OUTPUT]
    exported.graph.output[0].name = OUTPUT
    onnx.helper.set_model_props(exported, {"feature_names": json.dumps(FEATURES)})
    return exported


def to_feet(trees: onnx.NodeProto) -> None:
    """Take thresholds of the logarithmic feature to the scale of the feature itself."""
    parts = {attribute.name: attribute for attribute in trees.attribute}
    leaf = [mode == b"LEAF" for mode in parts["nodes_modes"].strings]
    values = parts["nodes_values"].floats
    for i, feature in enumerate(parts["nodes_featureids"].ints):
        if feature == LOGARITHMIC and not leaf[i]:
            values[i] = np.exp(values[i])


def predict(content: bytes, features: Rows) -> Rows:
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (predicted,) = session.run(None, {"features": features.astype(np.float32)})
    return np.asarray(predicted, dtype=np.float64)[:, 0]


if __name__ == "__main__":
    main()
