"""Train small models of XGBoost and write them with its own predictions.

    python tests/models/native/xgboost/make.py

writes the folder of the installed version: `NAME.json` and `NAME.ubj` as `save_model` does, and
`answers.json` with rows, some of them on thresholds and next to them, and the predictions of each
model. Run it with each version that has a folder here, on a CPU; the same version writes the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xgboost

VERSION = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
HERE = Path(__file__).parent / xgboost.__version__
ROUNDS = 3
SHAPE = {"max_depth": 2, "nthread": 1, "seed": 0}


class Case(NamedTuple):
    options: dict[str, Any]
    labels: np.ndarray
    since: tuple[int, int] = (1, 0)
    rounds: int = ROUNDS
    form: str = "json"
    kind: str = "numbers"
    """Rows: numbers, codes of categories, or a frame that names them."""


def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(200, 4)), 2).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


VALUES: dict[str, list[Any]] = {
    "color": ["a", "b", "c", "d", "e", "f", "g", "h", "i j"],
    "size": [10, 20, 37],
}


def codes() -> np.ndarray:
    rng = np.random.default_rng(2)
    ends = [len(values) for values in VALUES.values()]
    rows = np.column_stack([rng.integers(end, size=200) for end in ends] + [rng.normal(size=200)])
    rows = np.round(rows, 2).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def matrix_of(rows: Any, kind: str) -> xgboost.DMatrix:
    if kind == "numbers":
        return xgboost.DMatrix(rows)
    if kind == "codes":
        return xgboost.DMatrix(rows, feature_types=["c", "c", "q"], enable_categorical=True)
    categorical: Any = pd.Categorical
    named = {
        name: categorical.from_codes(np.nan_to_num(rows[:, i], nan=-1).astype(int), values)
        for i, (name, values) in enumerate(VALUES.items())
    }
    return xgboost.DMatrix(pd.DataFrame({**named, "weight": rows[:, 2]}), enable_categorical=True)


ROWS, CODES = table(), codes()
_FILLED = np.nan_to_num(ROWS)
NUMBER = _FILLED[:, 0] * 2 + np.sin(_FILLED[:, 1] * 2) + _FILLED[:, 2] * _FILLED[:, 3]
BINARY = (NUMBER > 0.3).astype(int)
CLASSES = np.digitize(NUMBER, [-0.5, 0.5])
POSITIVE = np.exp(NUMBER / 3)
BY_CODE = np.nan_to_num(CODES[:, 0] * 7 % 5 - 3 * (CODES[:, 1] == 1) + CODES[:, 2])
SEVERAL = np.column_stack([NUMBER, -NUMBER, POSITIVE])

CASES = {
    "regression": Case({"objective": "reg:squarederror"}, NUMBER),
    "base_score": Case({"objective": "reg:squarederror", "base_score": 7.25}, NUMBER, form="ubj"),
    "binary": Case({"objective": "binary:logistic", "base_score": 0.2}, BINARY),
    "classes": Case({"objective": "multi:softprob", "num_class": 3}, CLASSES, form="ubj"),
    "labels": Case({"objective": "multi:softmax", "num_class": 3, "base_score": 0.9}, CLASSES),
    "raw": Case({"objective": "binary:logitraw", "base_score": 0.3}, BINARY),
    "hinge": Case({"objective": "binary:hinge"}, BINARY),
    "share": Case({"objective": "reg:logistic"}, BINARY),
    "counts": Case({"objective": "count:poisson", "base_score": 3}, POSITIVE),
    "gamma": Case({"objective": "reg:gamma"}, POSITIVE, form="ubj"),
    "ranking": Case({"objective": "rank:pairwise"}, BINARY),
    "dart": Case({"booster": "dart", "rate_drop": 0.5}, NUMBER, rounds=5),
    "forest": Case({"num_parallel_tree": 3, "subsample": 0.6, "eta": 1}, NUMBER, rounds=1),
    "no_trees": Case({"objective": "reg:squarederror", "base_score": 2}, NUMBER, rounds=0),
    "no_splits": Case({"objective": "reg:squarederror", "gamma": 1e9}, NUMBER),
    "pruned": Case({"objective": "binary:logistic", "gamma": 3, "tree_method": "exact"}, BINARY),
    "targets": Case({"objective": "reg:squarederror"}, SEVERAL, (1, 6)),
    "quantiles": Case(
        {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}, NUMBER, (2, 0)
    ),
    "vector_leaves": Case(
        {"multi_strategy": "multi_output_tree", "tree_method": "hist"}, SEVERAL, (2, 0)
    ),
    "sets": Case({"tree_method": "hist", "max_depth": 3}, BY_CODE, (1, 6), kind="codes"),
    "named": Case({"tree_method": "hist"}, BY_CODE, (3, 1), form="ubj", kind="frame"),
    "one_hot": Case(
        {"tree_method": "hist", "max_cat_to_onehot": 100, "objective": "binary:logistic"},
        (BY_CODE > 0).astype(int),
        (1, 6),
        kind="codes",
    ),
}

WHOLE = (3, 2)
"""Version of which all cases are kept."""
OF_EACH = (
    "binary",
    "classes",
    "raw",
    "counts",
    "gamma",
    "dart",
    "targets",
    "vector_leaves",
    "sets",
)
"""Cases in which versions differ: base scores, links, forms of trees."""


def main() -> None:
    HERE.mkdir(exist_ok=True)
    names = CASES if VERSION == WHOLE else OF_EACH
    cases = {name: CASES[name] for name in names if CASES[name].since <= VERSION}
    boosters = {name: train(case) for name, case in cases.items()}
    for name, case in cases.items():
        form = case.form if VERSION >= (1, 6) else "json"
        boosters[name].save_model(str(HERE / f"{name}.{form}"))
    rows = probes([booster for name, booster in boosters.items() if cases[name].kind == "numbers"])
    given = {"numbers": rows, "codes": CODES[:40], "frame": CODES[:40]}
    answers = {
        name: predictions(name, booster, matrix_of(given[cases[name].kind], cases[name].kind))
        for name, booster in boosters.items()
    }
    lines = [f'"rows": {json.dumps(texts(rows))}', f'"codes": {json.dumps(texts(CODES[:40]))}']
    lines += [f'"values": {json.dumps(VALUES)}']
    lines += [f"{json.dumps(name)}: {json.dumps(texts(answers[name]))}" for name in answers]
    (HERE / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def train(case: Case) -> xgboost.Booster:
    matrix = matrix_of(ROWS if case.kind == "numbers" else CODES, case.kind)
    matrix.set_label(case.labels)
    return xgboost.train(SHAPE | case.options, matrix, case.rounds)


def predictions(name: str, booster: xgboost.Booster, matrix: xgboost.DMatrix) -> Any:
    """Return the prediction; probabilities in place of labels: (n_rows, n_outputs)."""
    if name == "labels":
        margins = booster.predict(matrix, output_margin=True).astype(np.float64)
        powers = np.exp(margins - margins.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    return booster.predict(matrix).reshape(matrix.num_row(), -1)


def probes(boosters: list[xgboost.Booster]) -> np.ndarray:
    """Return rows on the thresholds of all models and next to them: (40, 4)."""
    rng = np.random.default_rng(1)
    rows = (2 * rng.normal(size=(40, 4))).astype(np.float32)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    for feature, threshold in chain.from_iterable(map(splits, boosters)):
        value = np.float32(threshold)
        near = np.nextafter(value, np.float32(rng.choice([-np.inf, np.inf])))
        for chosen in (value, near):
            rows[rng.integers(len(rows)), feature] = chosen
    return rows


def splits(booster: xgboost.Booster) -> Iterator[tuple[int, float]]:
    """Yield feature and threshold of each split, which dumps of XGBoost round."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.json")
        booster.save_model(str(file))
        booster = json.loads(file.read_text())["learner"]["gradient_booster"]
    for tree in booster.get("gbtree", booster)["model"]["trees"]:
        for left, feature, value in zip(
            *(tree[name] for name in ("left_children", "split_indices", "split_conditions")),
            strict=True,
        ):
            if left >= 0:
                yield feature, value


def texts(matrix: np.ndarray) -> list[list[float | None]]:
    """Return values that read back as the same float32; None where missing."""
    return [[None if np.isnan(v) else float(f"{v:.9g}") for v in row] for row in matrix.tolist()]


if __name__ == "__main__":
    main()
