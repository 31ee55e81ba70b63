"""Train small models of CatBoost and write them with its own predictions.

    python tests/models/native/catboost/make.py

writes the folder of the installed version: `NAME.json` as `save_model` does, without the log and
the options of the training, which are most of such a file, and `answers.json` with rows, some of
them on borders and next to them, and the predictions of each model. The same version writes the
same. It takes catboost and pandas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import catboost
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRanker, CatBoostRegressor, Pool

VERSION = tuple(int(part) for part in catboost.__version__.split("."))
HERE = Path(__file__).parent / catboost.__version__
SHAPE = {
    "iterations": 3,
    "depth": 2,
    "learning_rate": 0.5,
    "thread_count": 1,
    "random_seed": 0,
    "verbose": 0,
    "allow_writing_files": False,
}


class Case(NamedTuple):
    kind: type
    options: dict[str, Any]
    labels: np.ndarray
    has_categories: bool = False


def table(seed: int, count: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(count, 4)), 2).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, 3] = np.nan_to_num(rows[:, 3])  # a feature that is never missing in training
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
    frame["town"] = rng.choice(["Ulm", "Wien", "Xi'an", "Ystad"], count)
    frame["size"] = rng.choice(["S", "M", "L", ""], count)
    return frame


ROWS = table(0, 200)
_FILLED = np.nan_to_num(ROWS[["a", "b", "c", "d"]].to_numpy(np.float64))
NUMBER = _FILLED[:, 0] * 2 + np.sin(_FILLED[:, 1] * 2) + _FILLED[:, 2] * _FILLED[:, 3]
BINARY = (NUMBER > 0.3).astype(int)
CLASSES = np.digitize(NUMBER, [-0.5, 0.5])
POSITIVE = np.exp(NUMBER / 3)
SHARE = 1 / (1 + np.exp(-NUMBER))
BY_TOWN = NUMBER + 3 * (ROWS["town"] == "Wien") - 2 * (ROWS["size"] == "L")

CASES = {
    "regression": Case(CatBoostRegressor, {}, NUMBER),
    "scaled": Case(CatBoostRegressor, {}, NUMBER),
    "lossguide": Case(CatBoostRegressor, {"grow_policy": "Lossguide", "max_leaves": 5}, NUMBER),
    "nan_above": Case(CatBoostRegressor, {"nan_mode": "Max"}, NUMBER),
    "sum": Case(CatBoostRegressor, {}, NUMBER),
    "quantile": Case(CatBoostRegressor, {"loss_function": "Quantile:alpha=0.9"}, NUMBER),
    "quantiles": Case(CatBoostRegressor, {"loss_function": "MultiQuantile:alpha=0.2,0.8"}, NUMBER),
    "counts": Case(CatBoostRegressor, {"loss_function": "Poisson"}, np.round(POSITIVE)),
    "tweedie": Case(
        CatBoostRegressor,
        {"loss_function": "Tweedie:variance_power=1.5", "nan_mode": "Max"},
        POSITIVE,
    ),
    "targets": Case(
        CatBoostRegressor, {"loss_function": "MultiRMSE"}, np.column_stack([NUMBER, -POSITIVE])
    ),
    "binary": Case(CatBoostClassifier, {}, np.array(["no", "yes"])[BINARY]),
    "truth": Case(CatBoostClassifier, {"grow_policy": "Depthwise"}, BINARY == 1),
    "shares": Case(CatBoostClassifier, {"loss_function": "CrossEntropy"}, SHARE),
    "classes": Case(CatBoostClassifier, {}, np.array(["low", "middle", "high"])[CLASSES]),
    "classes_depthwise": Case(CatBoostClassifier, {"grow_policy": "Depthwise"}, CLASSES + 5),
    "two_of_many": Case(CatBoostClassifier, {"loss_function": "MultiClass"}, BINARY),
    "one_vs_all": Case(CatBoostClassifier, {"loss_function": "MultiClassOneVsAll"}, CLASSES),
    "several_labels": Case(
        CatBoostClassifier,
        {"loss_function": "MultiLogloss"},
        np.column_stack([CLASSES > 0, CLASSES > 1]).astype(int),
    ),
    "ranking": Case(CatBoostRanker, {"loss_function": "YetiRank"}, BINARY),
    "one_hot": Case(CatBoostRegressor, {"one_hot_max_size": 9}, BY_TOWN.to_numpy(), True),
}
WHOLE = (1, 2, 10)
"""Version of which all cases are kept."""
OF_EACH = ("regression", "lossguide", "binary", "classes", "counts", "one_hot")
"""Cases of the other versions."""


def main() -> None:
    HERE.mkdir(exist_ok=True)
    names = CASES if VERSION == WHOLE else OF_EACH
    models = {name: train(name, CASES[name]) for name in names}
    documents = {name: saved(model, CASES[name]) for name, model in models.items()}
    for name, document in documents.items():
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        (HERE / f"{name}.json").write_text(text + "\n")
    rows = probes(documents)
    cells = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    lines = [f'"rows": {json.dumps(cells)}']
    for name, model in models.items():
        answers = predictions(model, rows if CASES[name].has_categories else rows.iloc[:, :4])
        lines.append(f"{json.dumps(name)}: {json.dumps(answers.tolist())}")
    (HERE / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def pool(case: Case) -> Pool:
    groups = np.repeat(np.arange(20), 10) if case.kind is CatBoostRanker else None
    if case.has_categories:
        return Pool(ROWS, case.labels, cat_features=["town", "size"], group_id=groups)
    return Pool(ROWS.iloc[:, :4], case.labels, group_id=groups)


def train(name: str, case: Case) -> catboost.CatBoost:
    model = case.kind(**SHAPE | case.options).fit(pool(case))
    if name == "scaled":
        model.set_scale_and_bias(-2.5, [7])
    if name == "sum":
        other = CatBoostRegressor(**SHAPE | {"random_seed": 1, "depth": 1}).fit(pool(case))
        return catboost.sum_models([model, other], weights=[0.5, 2])
    return model


def saved(model: catboost.CatBoost, case: Case) -> dict[str, Any]:
    """Return the model's JSON, with the texts of categories, and only what is no log or option."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.json")
        model.save_model(str(file), format="json", pool=pool(case) if case.has_categories else None)
        document = json.loads(file.read_text())
    info = document["model_info"]
    kept = {
        name: info[name]
        for name in ("catboost_version_info", "class_params", "loss_function")
        if name in info
    }
    if "params" in info:
        kept["params"] = {"loss_function": info["params"]["loss_function"]}
    return {**document, "model_info": kept}


def predictions(model: catboost.CatBoost, rows: pd.DataFrame) -> np.ndarray:
    """Return probabilities, or else what `predict` returns: (n_rows, n_outputs)."""
    if isinstance(model, CatBoostClassifier):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    return np.asarray(model.predict(rows), dtype=np.float64).reshape(len(rows), -1)


def probes(documents: dict[str, Any]) -> pd.DataFrame:
    """Return rows on the borders of all models and next to them, and with unknown categories."""
    rng = np.random.default_rng(1)
    frame = table(1, 60)
    frame.loc[::9, "town"] = "Zürich"
    frame.loc[::11, "d"] = np.nan
    for feature, border in sorted(set(borders(documents))):
        value = np.float32(border)
        near = np.nextafter(value, np.float32(rng.choice([-9, 9])))
        for chosen in (value, near):
            frame.iat[int(rng.integers(len(frame))), feature] = chosen
    return frame


def borders(documents: dict[str, Any]) -> Iterator[tuple[int, float]]:
    for document in documents.values():
        for feature in document["features_info"]["float_features"]:
            for border in feature["borders"]:
                yield feature["flat_feature_index"], border


if __name__ == "__main__":
    main()
