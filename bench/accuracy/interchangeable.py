"""Interchangeable pairs on data with known truth: independent columns have none, copies are some.

    python -m bench.accuracy.interchangeable [KIND]

KIND is the start of a name in KINDS; all without one. With EACH in the environment, every table
gets a line. Prints for each kind of forest the share of
pairs that are told on ten tables with independent columns, and the share of the copies that are
told once columns have been duplicated with noise. Figures are in docs/studies/feature-vectors.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.feature_vectors import (
    Growth,
    Options,
    PathSource,
    Result,
    Rule,
    TrainingData,
    from_training_data,
)
from onnxplain_server.methods.feature_vectors.cooccurrence import count
from onnxplain_server.methods.feature_vectors.interchange import split_pairs
from onnxplain_server.methods.feature_vectors.paths import of_children
from onnxplain_server.methods.feature_vectors.result import PathCounts, embed_counts, finish
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

NOISES = (0.01, 0.05)
"""Of copies, in standard deviations of the column."""
COPIES = 2
"""Columns of each table that are duplicated, among those that the target follows."""


class Table(NamedTuple):
    """Rows with independent columns.

    Attributes
    ----------
    values : (n_rows, n_features)
    target : (n_rows,)
    used : number of features, the first ones, that the target follows
    is_classes : bool
    """

    values: Matrix
    target: Vector
    used: int
    is_classes: bool = False


def _uniform(random: np.random.Generator, rows: int, count: int) -> Matrix:
    return random.uniform(size=(rows, count))


def _normal(random: np.random.Generator, rows: int, count: int) -> Matrix:
    return random.normal(size=(rows, count))


def _whole(random: np.random.Generator, rows: int, count: int) -> Matrix:
    """Normal columns, but the first of 0 and 1, and the second of 0 to 4."""
    values = _normal(random, rows, count)
    values[:, 0], values[:, 1] = random.integers(0, 2, rows), random.integers(0, 5, rows)
    return values


TABLES: dict[str, tuple[Callable[..., Matrix], int, int, Callable[[Matrix], Vector], float]] = {
    "Friedman 1": (
        _uniform, 10, 5,
        lambda x: 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
        + 10 * x[:, 3] + 5 * x[:, 4], 1.0,
    ),
    "Friedman 2": (
        _uniform, 8, 4,
        lambda x: np.hypot(x[:, 0], 6 * x[:, 1] * x[:, 2] - 1 / (1 + 2 * x[:, 3])), 0.1,
    ),
    "linear, different weights": (
        _normal, 8, 8, lambda x: np.asarray(x @ np.linspace(1, 2, 8)), 1.0
    ),
    "linear, equal weights": (_uniform, 7, 7, lambda x: np.asarray(x.sum(axis=1)), 0.1),
    "whole numbers": (
        _whole, 7, 4, lambda x: 2 * x[:, 0] + x[:, 1] + x[:, 2] * x[:, 3], 0.5
    ),
    "steps and an exponential": (
        _uniform, 10, 4,
        lambda x: 4 * (x[:, 0] > 0.5) * (x[:, 1] > 0.3) + np.exp(2 * x[:, 2]) + x[:, 3], 0.5,
    ),
    "one that rules": (
        _normal, 11, 5,
        lambda x: 5 * x[:, 0] + 3 * x[:, 1] ** 2 + 2 * x[:, 2] * x[:, 3] + x[:, 4], 0.3,
    ),
    "two classes, linear": (_normal, 8, 4, lambda x: np.asarray(x[:, :4].sum(axis=1)), 0.5),
    "many columns of noise": (
        _uniform, 15, 6, lambda x: np.asarray(x[:, :6] @ [3, 2, 2, 1, 1, 1]), 0.3
    ),
    "kinks": (
        _normal, 7, 5,
        lambda x: np.abs(x[:, 0]) + x[:, 1] * x[:, 2] + np.maximum(x[:, 3], 0) + x[:, 4], 0.3,
    ),
}  # fmt: skip
"""Columns, how many, how many the target follows, the target, and its noise."""


def tables(seed: int, row_count: int = 2_000) -> dict[str, Table]:
    """Draw the ten tables."""
    drawn = {}
    for number, (name, (kind, width, used, target, noise)) in enumerate(TABLES.items()):
        random = np.random.default_rng([seed, number])
        values = kind(random, row_count, width)
        told = target(values) + noise * random.normal(size=row_count)
        is_classes = "classes" in name
        drawn[name] = Table(
            values, (told > 0).astype(np.float64) if is_classes else told, used, is_classes
        )
    return drawn


def duplicate(table: Table, noise: float, seed: int) -> tuple[Table, set[tuple[int, int]]]:
    """Append noisy copies of some columns that the target follows; return their pairs, too."""
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.choice(table.used, COPIES, replace=False))
    originals = table.values[:, chosen]
    copies = originals + noise * originals.std(axis=0) * random.normal(size=originals.shape)
    width = table.values.shape[1]
    pairs = {(int(column), width + place) for place, column in enumerate(chosen)}
    return table._replace(values=np.hstack([table.values, copies])), pairs


Run = Any
Kind = Callable[[Table, int, Run], Result]


def grown(source: PathSource) -> Kind:
    """Grow a forest as the method does, with fewer paths; SURROGATE learns a boosted model."""

    def read(table: Table, seed: int, run: Run) -> Result:
        target: Array = table.target
        if source is PathSource.SURROGATE:
            model = HistGradientBoostingRegressor(random_state=0)
            target = model.fit(table.values, target).predict(table.values)
        by_name = table.is_classes and source is PathSource.LABELS
        width = table.values.shape[1]
        options = Options(
            source, tuple(f"x{j}" for j in range(width)), growth=Growth(2_000, depth=14)
        )
        learned = target.astype(str) if by_name else target[:, None]
        lesson = TrainingData(
            tuple(table.values.T), None, learned, by_name, np.ones(len(table.values))
        )
        return from_training_data(options, lesson, seed, run)

    return read


def own(forest: Callable[[bool], Any]) -> Kind:
    """Read a model's own trees."""

    def read(table: Table, seed: int, _run: Run) -> Result:
        model = forest(table.is_classes).set_params(random_state=seed, n_jobs=os.cpu_count())
        trees = [tree.tree_ for tree in model.fit(table.values, table.target).estimators_]
        width = table.values.shape[1]
        children = [(tree.children_left, tree.children_right, tree.feature) for tree in trees]
        paths = of_children(children, np.arange(width), width)
        options = Options(PathSource.MODEL, tuple(f"x{j}" for j in range(width)))
        trunk = PathCounts(
            count(paths, Rule()), split_pairs(paths, Rule()), len(paths), paths.tree_count
        )
        return finish(options, trunk, embed_counts(trunk.counted, options))

    return read


def random_forest(tree_count: int, **how: Any) -> Kind:
    """Read a forest of scikit-learn."""

    def forest(is_classes: bool) -> Any:
        kind = RandomForestClassifier if is_classes else RandomForestRegressor
        return kind(tree_count, **how)

    return own(forest)


KINDS: dict[str, Kind] = {
    "grown on the target": grown(PathSource.LABELS),
    "grown on predictions": grown(PathSource.SURROGATE),
    "random forest, √d columns": random_forest(200, max_features="sqrt"),
    "random forest, √d columns, 20 trees": random_forest(20, max_features="sqrt"),
    "random forest, d/3 columns, leaves of 5": random_forest(
        200, max_features=1 / 3, min_samples_leaf=5
    ),
    "random forest, √d columns, depth 4": random_forest(400, max_features="sqrt", max_depth=4),
    "random forest, all columns": random_forest(200, max_features=1.0),
    "random forest, all columns, depth 6": random_forest(200, max_features=1.0, max_depth=6),
    "extremely randomised trees": own(
        lambda _: ExtraTreesRegressor(100, max_features=1 / 3, min_samples_leaf=5)
    ),
}


class Score(NamedTuple):
    """Pairs told that are none, pairs of independent columns, copies told, and copies."""

    wrong: int
    independent: int
    right: int
    copies: int


def score(kind: Kind, table: Table, seed: int, run: Run) -> Score:
    """Read a table as it is, and with copies of each noise."""
    told = pairs_told(kind(table, seed, run))
    width = table.values.shape[1]
    right = copies = 0
    for noise in NOISES:
        doubled, pairs = duplicate(table, noise, seed)
        right += len(pairs & pairs_told(kind(doubled, seed, run)))
        copies += len(pairs)
    return Score(len(told), width * (width - 1) // 2, right, copies)


def pairs_told(result: Result) -> set[tuple[int, int]]:
    """Take the pairs of positions."""
    return {(pair.first, pair.second) for pair in result.interchangeable}


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def run(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
            return list(pool.map(function, parts))

        for name, kind in KINDS.items():
            if not name.startswith(wanted):
                continue
            scores = {
                title: score(kind, table, number, run)
                for number, (title, table) in enumerate(tables(2024).items())
            }
            total = Score(*(sum(column) for column in zip(*scores.values(), strict=True)))
            print(
                f"| {name} | {total.wrong / total.independent:.1%} of {total.independent} "
                f"| {total.right / total.copies:.1%} of {total.copies} |",
                flush=True,
            )
            if os.environ.get("EACH"):
                for title, one in scores.items():
                    print("   ", title, tuple(one), flush=True)


if __name__ == "__main__":
    main()
