"""Train the models of the iris examples, and write them and their tables.

Rows, features and settings are those of the README of the R package hstats. Neither booster draws
random numbers with them, so that the models are the same as there: so are their losses on the rows
held out, 0.0000933 and 0.00669.

Run with the environment of `make models`: .venv-models/bin/python examples/iris/train.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pandas as pd
from lightgbm import LGBMClassifier, early_stopping
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import convert_sklearn
from skl2onnx.common import data_types
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

HERE = Path(__file__).parent
FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
LABEL = "species"
SPECIES = ["setosa", "versicolor", "virginica"]
TRAINED_OF_EACH_SPECIES = 40
BOOSTING = {"n_estimators": 1000, "learning_rate": 0.2, "n_jobs": 1}
PATIENCE = 20


def main() -> None:
    iris, train, held_out = tables()
    train.to_csv(HERE / "iris_train.csv", index=False, lineterminator="\n")
    iris.to_csv(HERE / "iris.csv", index=False, lineterminator="\n")
    for name, fit, convert in (
        ("lightgbm", fit_lightgbm, convert_lightgbm_matrix),
        ("xgboost", fit_xgboost, convert_xgboost_matrix),
    ):
        model = fit(*split(train), *split(held_out))
        print(f"{name}: log loss on the rows held out {log_loss(model, *split(held_out)):.3g}")
        write(name, convert(model))
    write("linear", convert_linear(fit_linear(iris)))


def tables() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return all irises, the first 40 of each species, and the last 10."""
    data = load_iris()
    iris = pd.DataFrame(data.data, columns=FEATURES)
    iris[LABEL] = [SPECIES[code] for code in data.target]
    trained = iris.groupby(LABEL).cumcount() < TRAINED_OF_EACH_SPECIES
    return iris, iris[trained], iris[~trained]


def split(table: pd.DataFrame) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the features, and the species as codes."""
    codes = table[LABEL].map(SPECIES.index)
    return table[FEATURES].to_numpy(), codes.to_numpy()


def log_loss(
    model: LGBMClassifier | XGBClassifier,
    rows: npt.NDArray[np.float64],
    species: npt.NDArray[np.int64],
) -> float:
    probabilities = model.predict_proba(rows).astype(np.float64)
    return float(-np.log(probabilities[np.arange(len(rows)), species]).mean())


def fit_lightgbm(
    rows: npt.NDArray[np.float64],
    species: npt.NDArray[np.int64],
    held_out: npt.NDArray[np.float64],
    held_out_species: npt.NDArray[np.int64],
) -> LGBMClassifier:
    model = LGBMClassifier(deterministic=True, verbose=-1, **BOOSTING)
    stop = early_stopping(PATIENCE, verbose=False)
    return model.fit(rows, species, eval_X=held_out, eval_y=held_out_species, callbacks=[stop])


def fit_xgboost(
    rows: npt.NDArray[np.float64],
    species: npt.NDArray[np.int64],
    held_out: npt.NDArray[np.float64],
    held_out_species: npt.NDArray[np.int64],
) -> XGBClassifier:
    """Boost with exact splits, the default of XGBoost when hstats' README was written."""
    model = XGBClassifier(tree_method="exact", early_stopping_rounds=PATIENCE, **BOOSTING)
    return model.fit(rows, species, eval_set=[(held_out, held_out_species)], verbose=False)


def fit_linear(iris: pd.DataFrame) -> Pipeline:
    """Predict the length of the sepal from everything else, the species included."""
    numbers = FEATURES[1:]
    columns = make_column_transformer((OneHotEncoder(), [LABEL]), remainder="passthrough")
    return make_pipeline(columns, LinearRegression()).fit(
        iris[[*numbers, LABEL]], iris["sepal_length"]
    )


def convert_lightgbm_matrix(model: LGBMClassifier) -> onnx.ModelProto:
    return name_outputs(convert_lightgbm(model, "iris", initial_types=matrix(), zipmap=False))


def convert_xgboost_matrix(model: XGBClassifier) -> onnx.ModelProto:
    return name_outputs(convert_xgboost(model, "iris", initial_types=matrix()))


def matrix() -> list[tuple[str, FloatTensorType]]:
    return [("features", FloatTensorType([None, len(FEATURES)]))]


def name_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """Put the names of the species for the codes that the boosters know."""
    (trees,) = (node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier")
    (codes,) = (a for a in trees.attribute if a.name == "classlabels_int64s")
    trees.attribute.remove(codes)
    trees.attribute.append(onnx.helper.make_attribute("classlabels_strings", SPECIES))
    (label,) = (output for output in model.graph.output if output.name == "label")
    label.type.tensor_type.elem_type = onnx.TensorProto.STRING
    return model


def convert_linear(model: Pipeline) -> onnx.ModelProto:
    types = [(name, data_types.FloatTensorType([None, 1])) for name in FEATURES[1:]]
    types.append((LABEL, data_types.StringTensorType([None, 1])))
    converted: onnx.ModelProto = convert_sklearn(model, "iris", initial_types=types)
    return converted


def write(name: str, model: onnx.ModelProto) -> None:
    """Write the model, with all that has no order in one order: the same model, the same bytes."""
    model.opset_import.sort(key=lambda opset: opset.domain)
    for node in model.graph.node:
        node.attribute.sort(key=lambda attribute: attribute.name)
    content = model.SerializeToString(deterministic=True)
    (HERE / f"{name}.onnx").write_bytes(content)
    print(f"{name}.onnx: {len(content) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
