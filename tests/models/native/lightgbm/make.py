"""Train small models of LightGBM and write them with its own predictions.

    python tests/models/native/lightgbm/make.py

writes the folder of the installed version: `NAME.txt` as `save_model` does, `NAME.json` as
`dump_model`, and `answers.json` with rows, some of them on thresholds and next to them, and the
predictions of each model. It needs pandas. The same version writes the same on the same processor.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd

VERSION = tuple(int(part) for part in lightgbm.__version__.split(".")[:2])
HERE = Path(__file__).parent / lightgbm.__version__
SHAPE = {"num_leaves": 4, "min_data_in_leaf": 5, "seed": 1, "num_threads": 1, "verbose": -1}
CATEGORIES = {"cat_smooth": 1, "min_data_per_group": 2, "cat_l2": 1}
ZERO = float(np.float32(1e-35))


class Case(NamedTuple):
    options: dict[str, Any]
    labels: np.ndarray
    table: str = "rows"
    rounds: int = 3
    form: str = "txt"


RNG = np.random.default_rng(0)
COUNT = 300
ROWS = np.round(RNG.normal(size=(COUNT, 4)), 2)
ROWS[RNG.random(ROWS.shape) < 0.1] = np.nan
ROWS[RNG.random(ROWS.shape) < 0.2] = 0
_FILLED = np.nan_to_num(ROWS)
MANY, FEW = (RNG.integers(0, count, COUNT) for count in (40, 5))
NUMBER = _FILLED[:, 0] * 2 + np.sin(_FILLED[:, 1] * 2) + (_FILLED[:, 2] == 0)
BY_CODE = NUMBER + RNG.normal(size=40)[MANY] + 3 * RNG.normal(size=5)[FEW]
BINARY, CLASSES = (NUMBER > 0.3).astype(int), np.digitize(NUMBER, [-0.5, 0.5])
POSITIVE, SHARE = np.exp(NUMBER / 3), 1 / (1 + np.exp(-NUMBER))
TABLES: dict[str, Any] = {
    "rows": ROWS,
    "filled": _FILLED,
    "codes": np.column_stack([ROWS[:, :2], np.where(MANY == 7, np.nan, MANY), FEW]),
    "frame": pd.DataFrame(
        {
            "a weight": ROWS[:, 0],
            "color": pd.Categorical(np.array(["red", "green", "blue", "grey", "ß"])[FEW]),
            "size": pd.Categorical(
                np.array(["low", "mid", "top"])[MANY % 3], ["low", "mid", "top"], ordered=True
            ),
            "year": pd.Categorical(2000.5 + FEW),
        }
    ),
}

CASES = {
    "regression": Case({"objective": "regression"}, NUMBER),
    "huber": Case({"objective": "huber"}, NUMBER, form="json"),
    "root": Case({"objective": "regression", "reg_sqrt": True}, 5 * NUMBER),
    "counts": Case({"objective": "poisson"}, POSITIVE),
    "binary": Case({"objective": "binary", "sigmoid": 2.5}, BINARY),
    "classes": Case({"objective": "multiclass", "num_class": 3}, CLASSES),
    "one_or_rest": Case(
        {"objective": "multiclassova", "num_class": 3, "sigmoid": 0.5}, CLASSES, form="json"
    ),
    "share": Case({"objective": "cross_entropy"}, SHARE),
    "intensity": Case({"objective": "cross_entropy_lambda"}, SHARE),
    "ranking": Case({"objective": "lambdarank"}, CLASSES),
    "forest": Case({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, NUMBER),
    "zeros": Case({"objective": "regression", "zero_as_missing": True}, NUMBER, rounds=8),
    "zeros_json": Case(
        {"objective": "regression", "zero_as_missing": True}, NUMBER, rounds=4, form="json"
    ),
    "no_missing": Case({"objective": "regression", "use_missing": False}, NUMBER),
    "filled": Case({"objective": "regression"}, NUMBER, "filled"),
    "no_splits": Case({"objective": "binary", "min_data_in_leaf": COUNT}, BINARY),
    "codes": Case({"objective": "regression", **CATEGORIES}, BY_CODE, "codes", 4),
    "codes_json": Case({"objective": "binary", **CATEGORIES}, BY_CODE > 0, "codes", 4, "json"),
    "frame": Case({"objective": "binary", **CATEGORIES}, BY_CODE > 0, "frame", 4),
    "frame_json": Case({"objective": "regression", **CATEGORIES}, BY_CODE, "frame", 4, "json"),
}
WHOLE = (4, 6)
"""Version of which all cases are kept."""
OF_EACH = ("binary", "huber", "forest", "zeros", "codes", "codes_json", "frame")
"""Cases in which versions differ: forms, objectives, averages, categories."""


def main() -> None:
    HERE.mkdir(exist_ok=True)
    names = CASES if VERSION == WHOLE else OF_EACH
    boosters = {name: train(CASES[name]) for name in names}
    boosters["custom"] = train(Case({"objective": "none"}, NUMBER), own=True)
    for name, booster in boosters.items():
        write(name, booster, CASES[name].form if name in CASES else "txt")
    if VERSION == WHOLE:
        write("linear", train(Case({"linear_tree": True}, NUMBER, "filled")), "txt")
        write("linear_json", train(Case({"linear_tree": True}, NUMBER, "filled")), "json")
    rows = {name: probes(name, boosters) for name in TABLES}
    lines = [f'"{name}": {json.dumps(plain(table))}' for name, table in rows.items()]
    for name, booster in boosters.items():
        table = rows[CASES[name].table if name in CASES else "rows"]
        answers = booster.predict(table).reshape(len(table), -1)
        lines.append(f'"{name} predicts": {json.dumps(answers.tolist())}')
    (HERE / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def train(case: Case, *, own: bool = False) -> lightgbm.Booster:
    is_ranking = case.options.get("objective") == "lambdarank"
    groups = {"group": [20] * (COUNT // 20)} if is_ranking else {}
    codes = {"categorical_feature": [2, 3]} if case.table == "codes" else {}
    data = lightgbm.Dataset(TABLES[case.table], case.labels, **groups, **codes)
    options: dict[str, Any] = SHAPE | case.options
    if not own:
        return lightgbm.train(options, data, case.rounds)
    if VERSION >= (4, 0):
        return lightgbm.train(options | {"objective": squares}, data, case.rounds)
    return lightgbm.train(options, data, case.rounds, fobj=squares)


def squares(scores: np.ndarray, data: lightgbm.Dataset) -> tuple[np.ndarray, np.ndarray]:
    return scores - data.get_label(), np.ones_like(scores)


def write(name: str, booster: lightgbm.Booster, form: str) -> None:
    if form == "txt":
        booster.save_model(str(HERE / f"{name}.txt"))
    else:
        (HERE / f"{name}.json").write_text(json.dumps(booster.dump_model()) + "\n")


def probes(name: str, boosters: dict[str, lightgbm.Booster]) -> Any:
    """Return rows on the thresholds of all models of a table, and next to them."""
    rng = np.random.default_rng(1)
    table = TABLES[name]
    chosen = rng.integers(COUNT, size=60)
    own = [b for key, b in boosters.items() if key in CASES and CASES[key].table == name]
    if isinstance(table, pd.DataFrame):
        rows = table.iloc[chosen].reset_index(drop=True)
        rows["color"] = rows["color"].cat.add_categories(["unknown"])
        rows.loc[3, "color"], rows.loc[5, "color"] = None, "unknown"
        rows["a weight"] = numbers(rows[["a weight"]].to_numpy().copy(), own, rng)[:, 0]
        return rows
    rows = table[chosen]
    if name == "codes":
        rows[:, :2] = numbers(rows[:, :2], own, rng)
        rows[:8, 2] = [-1, 99, 3.7, 31, 32, np.nan, 1e9, -5]
        rows[8:16, 3] = [-1, 0.5, 1.5, 2.5, 3.5, 4.5, 5, 9]
        return rows
    return numbers(rows, own, rng)


def numbers(
    rows: np.ndarray, boosters: list[lightgbm.Booster], rng: np.random.Generator
) -> np.ndarray:
    special = [0.0, np.nan, ZERO, -ZERO, 1e-36, -1e-36, 1.1e-35, -1.1e-35, 1e301, -1e301]
    values = [(j, v) for j in range(rows.shape[1]) for v in special]
    for feature, threshold in (pair for booster in boosters for pair in splits(booster)):
        if feature < rows.shape[1]:
            near = np.nextafter(threshold, rng.choice([-np.inf, np.inf]))
            values += [(feature, threshold), (feature, near)]
    for feature, value in values:
        rows[rng.integers(len(rows)), feature] = value
    return rows


def splits(booster: lightgbm.Booster) -> Iterator[tuple[int, float]]:
    """Yield feature and threshold of each numeric split."""
    stack = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    while stack:
        node = stack.pop()
        if "left_child" not in node:
            continue
        stack += [node["left_child"], node["right_child"]]
        if node["decision_type"] == "<=":
            yield node["split_feature"], node["threshold"]


def plain(table: Any) -> Any:
    """Return rows, or columns by name; None where missing."""
    if isinstance(table, pd.DataFrame):
        columns = {name: table[name].astype(object) for name in table}
        return {name: [None if pd.isna(v) else v for v in own] for name, own in columns.items()}
    return [[None if np.isnan(value) else value for value in row] for row in table.tolist()]


if __name__ == "__main__":
    main()
