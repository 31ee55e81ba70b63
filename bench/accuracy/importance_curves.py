"""Quality of feature rankings by four kinds of importance: the paper's Section 3.4.

python -m bench.accuracy.importance_curves COMMAND

    curves [TABLE]...   rankings and curves of these tables, or of all
    spread [TABLE]...   areas for ten rankings by feature vectors
    report              tables of the results, and a plot

Smallest sufficient subset (SSS): a forest is trained on the k most important features, for growing
k. Smallest destroying subset (SDS): on all but these. Each forest is trained anew. Results are
saved in build/curves, so that a run can be resumed. Figures are in
docs/studies/feature-vectors.md.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import vl_convert
from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.methods.feature_vectors import (
    Growth,
    Options,
    PathSource,
    TrainingData,
    from_training_data,
)
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.inspection import permutation_importance

from bench.accuracy import tree_shap
from bench.shared import tables

SAVED = Path(__file__).parents[2] / "build/curves"
PICTURE = Path(__file__).parents[2] / "docs/images/feature-vectors-curves.png"
METHODS = ("feature vectors", "Gini", "permutation", "TreeSHAP")
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
TABLES = (
    "breast cancer", "digits", "diabetes", "Spambase", "Adult", "Bank Marketing", "Parkinson",
    "Wine Quality, red", "SMS Spam",
)  # fmt: skip
_ROWS = 4_000
_SENTENCES = 20_000
_SHAP_ROWS = 100
_MOST_STEPS, _MOST_FEATURES = 16, 100
_RUNS = 10


class Split(NamedTuple):
    """Rows to train on, to rank by, and to test on: half, a quarter and a quarter."""

    table: tables.Table
    values: Matrix
    train: Indices
    ranked: Indices
    test: Indices

    def forest(self, seed: int = 0) -> Any:
        """Make a forest that is not yet trained."""
        kind = RandomForestClassifier if self.table.is_classes else RandomForestRegressor
        return kind(100, max_features="sqrt", random_state=seed, n_jobs=2)


def split(name: str) -> Split:
    """Draw rows, and number the values of text by their frequency."""
    table = tables.load(name)
    values = np.stack([_numbers(column) for column in table.columns], axis=1)
    order = np.random.default_rng(0).permutation(len(values))[:_ROWS]
    half, quarter = len(order) // 2, len(order) // 4
    return Split(table, values, *np.split(order, [half, half + quarter]))


def _numbers(column: Array) -> Vector:
    if column.dtype != object:
        return np.asarray(column, dtype=float)
    _, codes, counts = np.unique(column.astype(str), return_inverse=True, return_counts=True)
    return np.asarray(np.argsort(np.argsort(-counts, kind="stable"))[codes], dtype=float)


def rankings(data: Split, run: Any) -> dict[str, Vector]:
    """Measure each feature's importance in four ways, on the rows to train on and to rank by."""
    target, train = data.table.target, data.train
    forest = data.forest().fit(data.values[train], target[train])
    repeats = 5 if data.values.shape[1] < 200 else 1
    permuted = permutation_importance(
        forest, data.values[data.ranked], target[data.ranked], n_repeats=repeats, random_state=0
    )
    return {
        "feature vectors": by_vectors(data, 0, run),
        "Gini": forest.feature_importances_,
        "permutation": permuted.importances_mean,
        "TreeSHAP": tree_shap.importance(forest, data.values[data.ranked[:_SHAP_ROWS]]),
    }


def by_vectors(data: Split, seed: int, run: Any, sentence_count: int = _SENTENCES) -> Vector:
    """Lengths of the feature vectors: source LABELS, depth by cross-validation."""
    table, train = data.table, data.train
    target = table.target[train]
    lesson = TrainingData(
        tuple(column[train] for column in table.columns),
        None,
        target if table.is_classes else target[:, None],
        table.is_classes,
        np.ones(len(train)),
    )
    options = Options(PathSource.LABELS, table.names, growth=Growth(sentence_count))
    return from_training_data(options, lesson, seed, run).norms


class Scores:
    """Scores of forests by the features that they are trained on, each trained once."""

    def __init__(self, data: Split) -> None:
        self._data = data
        self._known: dict[bytes, float] = {}

    def of(self, features: Indices) -> float:
        """Accuracy or R² on the rows to test on; that of a constant without any feature."""
        chosen = np.sort(features)
        key = chosen.tobytes()
        if key not in self._known:
            self._known[key] = self._train(chosen)
        return self._known[key]

    def _train(self, chosen: Indices) -> float:
        data, target = self._data, self._data.table.target
        if not len(chosen):
            return _of_constant(target[data.train], target[data.test], data.table.is_classes)
        forest = data.forest().fit(data.values[np.ix_(data.train, chosen)], target[data.train])
        return float(forest.score(data.values[np.ix_(data.test, chosen)], target[data.test]))


def _of_constant(train: Array, test: Array, is_classes: bool) -> float:
    if not is_classes:
        return 0.0
    names, counts = np.unique(train, return_counts=True)
    return float((test == names[counts.argmax()]).mean())


def steps(feature_count: int) -> Indices:
    """Numbers of features at which forests are trained: all, or ever fewer up to 100."""
    most = min(feature_count, _MOST_FEATURES)
    if most <= _MOST_STEPS:
        return np.arange(most + 1)
    found = np.unique(np.geomspace(1, most, _MOST_STEPS).round().astype(int))
    return np.concatenate([[0], found])


def curve(scores: Scores, importance: Sequence[float]) -> dict[str, list[float]]:
    """Score the most important features, and all the others, at each step."""
    order = np.argsort(-np.asarray(importance), kind="stable")
    counts = steps(len(order))
    return {
        "count": counts.tolist(),
        "SSS": [scores.of(order[:k]) for k in counts],
        "SDS": [scores.of(order[k:]) for k in counts],
    }


def area(scores: dict[str, list[float]], which: str) -> float:
    """Average score over numbers of features, straight lines between steps."""
    counts, values = np.array(scores["count"]), np.array(scores[which])
    widths = np.diff(counts)
    return float((widths * (values[1:] + values[:-1]) / 2).sum() / widths.sum())


def saved(name: str, make: Callable[[], Any]) -> Any:
    """Return the saved result of an earlier run, or compute and save it."""
    file = SAVED / f"{_file(name)}.json"
    if not file.exists():
        start = time.perf_counter()
        result = make()
        SAVED.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return json.loads(file.read_text())


def ranked(name: str, run: Any) -> dict[str, list[float]]:
    def make() -> dict[str, list[float]]:
        return {method: list(map(float, v)) for method, v in rankings(split(name), run).items()}

    result: dict[str, list[float]] = saved(f"{name} rankings", make)
    return result


def curves(name: str, run: Any) -> dict[str, dict[str, list[float]]]:
    """Compute the curves of all methods on one table."""
    found = ranked(name, run)

    def make() -> dict[str, Any]:
        scores = Scores(split(name))
        return {method: curve(scores, found[method]) for method in METHODS}

    result: dict[str, dict[str, list[float]]] = saved(f"{name} curves", make)
    return result


def spread(name: str, run: Any) -> list[float]:
    """Areas under the SSS curves of ten forests grown with other seeds."""

    def make() -> list[float]:
        data = split(name)
        scores = Scores(data)
        every = [by_vectors(data, seed, run) for seed in range(_RUNS)]
        return [area(curve(scores, list(lengths)), "SSS") for lengths in every]

    result: list[float] = saved(f"{name} spread", make)
    return result


def report(run: Any) -> None:
    """Print areas in percent as tables of the document, from saved results."""
    present = [name for name in TABLES if (SAVED / f"{_file(name)}-curves.json").exists()]
    for which in ("SSS", "SDS"):
        print(f"\n| {which} | Features | {' | '.join(METHODS)} |\n|---|---|{'---|' * len(METHODS)}")
        rows = {name: [area(curves(name, run)[m], which) for m in METHODS] for name in present}
        for name, areas in rows.items():
            size = len(ranked(name, run)["Gini"])
            print(f"| {name} | {size:,} | {_cells(areas)} |")
        print(f"| mean | | {_cells(np.mean(list(rows.values()), axis=0))} |")
    print("\n| Rank correlation with | " + " | ".join(METHODS[1:]) + " |\n|---|---|---|---|")
    for name in present:
        found = ranked(name, run)
        ours = found["feature vectors"]
        print(f"| {name} | {_cells([spearmanr(ours, found[m])[0] for m in METHODS[1:]])} |")
    for name in TABLES:
        if (SAVED / f"{_file(name)}-spread.json").exists():
            areas = spread(name, run)
            print(f"{name}: SSS areas {min(areas):.4f} to {max(areas):.4f}, "
                  f"spread {(max(areas) - min(areas)) / max(areas):.2%}")  # fmt: skip


def draw(run: Any) -> None:
    """Draw the curves of all tables that were computed."""
    present = [name for name in TABLES if (SAVED / f"{_file(name)}-curves.json").exists()]
    values = [
        {"table": name, "curve": which, "method": method, "features": k, "score": score}
        for name in present
        for method, scores in curves(name, run).items()
        for which in ("SSS", "SDS")
        for k, score in zip(scores["count"], scores[which], strict=True)
    ]
    ranked_by = {"field": "method", "type": "nominal", "title": "ranked by"}
    spec = {
        "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
        "width": 130,
        "height": 110,
        "encoding": {
            "row": {"field": "curve", "sort": ["SSS", "SDS"], "title": None},
            "column": {"field": "table", "sort": present, "title": None},
            "x": {"field": "features", "type": "quantitative", "title": "features"},
            "y": {"field": "score", "type": "quantitative", "scale": {"zero": False}},
            "color": ranked_by | {"scale": {"domain": METHODS, "range": COLOURS}},
            "strokeDash": ranked_by | {"scale": {"domain": METHODS}},
        },
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
        "config": {"legend": {"orient": "top"}, "axis": {"tickCount": 4}},
    }
    PICTURE.write_bytes(vl_convert.vegalite_to_png(json.dumps(spec), scale=1.5))


def _file(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


def _cells(values: Iterable[float]) -> str:
    return " | ".join(f"{100 * value:.1f}" for value in values)


def main() -> None:
    command, *names = sys.argv[1:] or [""]
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def run(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
            return list(pool.map(function, parts))

        if command == "report":
            report(run)
            draw(run)
        elif command in {"curves", "spread"}:
            for name in names or TABLES:
                (curves if command == "curves" else spread)(name, run)
        else:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
