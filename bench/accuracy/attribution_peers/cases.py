"""Cases that are known to go wrong, each as small as it shows: thresholds, categories, texts.

Issues are those of shap on GitHub. What a case prints is what the installed versions do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnxplain
import pandas as pd
import shap
from lightgbm import LGBMRegressor
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from skl2onnx.common import data_types
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBRegressor

from bench.accuracy.attribution_peers import judge
from bench.accuracy.attribution_peers.compare import (
    INTERVENTIONAL,
    PATH_DEPENDENT,
    Problem,
)
from bench.accuracy.attribution_peers.libraries import ours
from bench.accuracy.attribution_peers.models import BOOSTED, EXAMPLES, exported

GAMES = (INTERVENTIONAL, PATH_DEPENDENT)
OTHER_TREES = "other trees: skl2onnx leaves out where missing values go"
TEXTS, NUMBERS = ["job", "marital", "education"], ["age", "balance", "duration"]


def lines(client: onnxplain.Client) -> Iterator[str]:
    """Return the lines of all cases."""
    for title, problems, games in (
        ("Rows beside a threshold between float32 neighbours (#5116)", thresholds(), GAMES[:1]),
        ("Doubles that round to a threshold of XGBoost", rounded(), GAMES[:1]),
        ("A tree of columns 1 and 8", few_columns(), GAMES[1:]),
        ("Sets of categories; rows with unseen and missing ones (#1644)", sets(), GAMES),
        ("Missing values", missing(), GAMES),
    ):
        yield f"\n{title}"
        for problem in problems:
            for game in games:
                yield from (each.line() for each in problem.compare(client, game))
    yield "\nText columns behind an encoder"
    yield from texts(client)


def thresholds() -> Iterator[Problem]:
    """Split between two neighbours in float32, where the threshold is a double between them."""
    for low in np.array([5.1, 12.893], dtype=np.float32):
        column = np.array([low, np.nextafter(low, np.float32(np.inf))] * 20)
        rows, target = pd.DataFrame({"x": column, "y": column}), np.tile([0.0, 1.0], 20)
        size = {"n_estimators": 1, "random_state": 0}
        for kind, model in (
            ("scikit-learn forest", RandomForestRegressor(**size, bootstrap=False)),
            ("LightGBM", LGBMRegressor(**size, min_data_in_leaf=1, min_data_in_bin=1, verbose=-1)),
        ):
            model.fit(rows.to_numpy(), target)
            yield Problem(
                *(f"{low:.5g}", kind, model, exported(model, 2), rows, len(rows)),
                background=[0, 2],
                explained=[1, 3],
            )


def few_columns() -> Iterator[Problem]:
    """Split on two of ten columns, of which the larger number comes first in a set of Python."""
    values = np.random.default_rng(0).random((200, 10), dtype=np.float32)
    target = (values[:, 1] > 0.5) + 3.0 * (values[:, 8] > 0.3)
    model = RandomForestRegressor(1, bootstrap=False, max_depth=2, random_state=0).fit(
        values, target
    )
    rows = pd.DataFrame(values, columns=[f"x{j}" for j in range(10)])
    yield Problem("two of ten", "scikit-learn forest", model, exported(model, 10), rows, len(rows))


def rounded() -> Iterator[Problem]:
    """Explain doubles just below a threshold: XGBoost reads them in float32, which is not below."""
    column = np.arange(40, dtype=np.float64) / 10
    rows = pd.DataFrame({"x": column, "y": column[::-1]})
    model = XGBRegressor(n_estimators=5, max_depth=2).fit(rows.to_numpy(), column > 2)
    (edge, *_) = model.get_booster().trees_to_dataframe()["Split"].dropna()
    rows.loc[1:2, "x"] = np.float64(np.float32(edge)) - 1e-9
    yield Problem(
        *("doubles", "XGBoost", model, exported(model, 2), rows, len(rows)),
        background=range(20, 40),
        explained=[1, 2],
    )


def sets() -> Iterator[Problem]:
    """Split by sets of categories: jobs, education and months of the bank's customers."""
    frame = pd.read_csv(EXAMPLES / "gallery" / "data" / "bank.csv.gz").sample(2_000, random_state=0)
    rows = frame[["age", "balance", "day"]].astype(np.float32)
    for name in ("job", "education", "month"):
        rows[name] = frame[name].astype("category").cat.codes.astype(np.float32)
    model = LGBMRegressor(**BOOSTED, verbose=-1, max_cat_to_onehot=2, min_data_per_group=5)
    model.fit(rows.to_numpy(), frame["duration"], categorical_feature=[3, 4, 5])
    types = [("rows", FloatTensorType([None, 6]))]
    content = convert_lightgbm(model, initial_types=types)
    known = rows.reset_index(drop=True)
    yield Problem("known", "LightGBM", model, content, known, len(known))
    strange = pd.concat([known, known.iloc[100:105]], ignore_index=True)
    strange.loc[2000:2004, "job"] = [77, np.nan, -1, 32, 99]
    yield Problem("unseen", "LightGBM", model, content, strange, len(known),
                  explained=range(2000, 2005), judged=5)  # fmt: skip


def missing() -> Iterator[Problem]:
    """Leave a tenth of the values of California's houses out."""
    frame = pd.read_csv(EXAMPLES / "gallery" / "data" / "california.csv.gz")
    frame = frame.sample(2_000, random_state=0)
    target = frame.pop("median_house_value").to_numpy(np.float64)
    rows = frame.astype(np.float32).reset_index(drop=True)
    rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.1)
    for kind, model in (
        (
            "scikit-learn forest",
            RandomForestRegressor(20, max_depth=4, bootstrap=False, random_state=0),
        ),
        ("XGBoost", XGBRegressor(**BOOSTED)),
        ("LightGBM", LGBMRegressor(**BOOSTED, verbose=-1)),
    ):
        model.fit(rows.to_numpy(), target)
        reasons = {PATH_DEPENDENT: OTHER_TREES} if kind == "scikit-learn forest" else {}
        content = exported(model, 8)
        yield Problem("gaps", kind, model, content, rows, len(rows), reasons=reasons)


def texts(client: onnxplain.Client) -> Iterator[str]:
    """Compare the values of a text column with the sums over the columns that it is encoded as."""
    frame = pd.read_csv(EXAMPLES / "gallery" / "data" / "bank.csv.gz").sample(2_000, random_state=0)
    target, rows = frame["y"] == "yes", frame[TEXTS + NUMBERS].reset_index(drop=True)
    rows[NUMBERS] = rows[NUMBERS].astype(np.float32)
    front = ColumnTransformer(
        [("texts", OneHotEncoder(sparse_output=False), TEXTS), ("numbers", "passthrough", NUMBERS)]
    )
    model = make_pipeline(front, GradientBoostingRegressor(random_state=0)).fit(rows, target)
    kinds = [data_types.FloatTensorType, data_types.StringTensorType]
    inputs = [(name, kinds[name in TEXTS]([None, 1])) for name in rows]
    content = to_onnx(model, initial_types=inputs)
    values, _ = ours(
        *(client, content, rows),
        explained=range(100, 120),
        background=range(100),
        perturbation="INTERVENTIONAL",
    )

    def predict(mixed: Any) -> judge.Vector:
        given = pd.DataFrame(mixed, columns=rows.columns)
        given[NUMBERS] = given[NUMBERS].astype(np.float32)
        return np.asarray(model.predict(given))

    members = judge.coalitions(6)
    whole = rows.to_numpy(object)
    worths = [judge.interventional(predict, whole[i], whole[:100], members) for i in (100, 101)]
    right = np.array([judge.shapley(worth, 6) for worth in worths])
    spread = float(predict(whole).std())
    yield f"onnxplain: off by {np.abs(values[:2] - right).max() / spread:.1e} of the spread"
    encoded = front.transform(rows)
    few = shap.maskers.Independent(encoded[:100], max_samples=100)
    explainer = shap.TreeExplainer(model[-1], few, feature_perturbation="interventional")
    sums = _sums(explainer.shap_values(encoded[100:102]), front)
    off = np.abs(sums - right).max() / spread
    yield f"shap, sums over {encoded.shape[1] - 3} one-hot columns: off by {off:.1e} of the spread"


def _sums(values: Any, front: ColumnTransformer) -> judge.Vector:
    """Add the values of the columns that each text column is encoded as."""
    encoder = front.named_transformers_["texts"]
    widths: Sequence[int] = [len(each) for each in encoder.categories_] + [1] * len(NUMBERS)
    starts = np.cumsum([0, *widths[:-1]])
    return np.asarray(np.add.reduceat(values, starts, axis=1))
