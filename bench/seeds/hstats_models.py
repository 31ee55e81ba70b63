"""Models and tables of the README of hstats, as examples/ rebuilds them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from examples.miami.published.r_sample import RSample

EXAMPLES = Path(__file__).parents[2] / "examples"
_MIAMI = EXAMPLES / "miami" / "published"
HOUSES = ["OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold"]
FLOWERS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
# Model, rows, features, and the number of features whose triples are asked for.
MODELS = {
    "miami-published": (_MIAMI / "miami_xgboost.onnx", _MIAMI / "rows.csv", HOUSES, 3),
    "iris-lightgbm": (
        EXAMPLES / "iris/lightgbm.onnx", EXAMPLES / "iris/iris_train.csv", FLOWERS, 4
    ),
    "iris-xgboost": (
        EXAMPLES / "iris/xgboost.onnx", EXAMPLES / "iris/iris_train.csv", FLOWERS, 4
    ),
    "iris-linear": (EXAMPLES / "iris/linear.onnx", EXAMPLES / "iris/iris.csv", [], 3),
    **{
        f"r-{name}": (EXAMPLES / f"r/{name}.onnx", EXAMPLES / "r/iris.csv", [], 0)
        for name in ("forest", "species", "linear", "mlr3")
    },
}  # fmt: skip


def houses() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the houses that the model was trained on, and those held out."""
    table = pd.read_csv(EXAMPLES / "miami" / "miami_housing.csv.gz")
    table["log_price"] = np.log(table["SALE_PRC"])
    trained = RSample(1).draw(len(table), int(0.8 * len(table)))
    columns = [*HOUSES, "log_price"]
    return table.loc[trained, columns], table.loc[~table.index.isin(trained), columns]


def flowers(*, held_out: bool) -> pd.DataFrame:
    """Return the first 40 irises of each species, or the last 10."""
    table = pd.read_csv(EXAMPLES / "iris" / "iris.csv")
    return table[(table.groupby("species").cumcount() >= 40) == held_out]
