"""Feature vectors beside the plots that their authors published for tables of OpenML.

    python -m bench.seeds.published_plots run FOLDER KIND SEED [TABLE]...
    python -m bench.seeds.published_plots report FOLDER

FOLDER holds the plots and tables: see openml.py. KIND is `definition` (onnxplain's defaults),
`settings` (onnxplain with the settings of the authors' package) or `package`: that package itself,
feature-vectors 0.1.0 of PyPI, installed beside plotly. For it, set PYTHONHASHSEED to the seed: its
counts depend on the order of its sets. Runs are kept in build/published-plots.

All have 20,000 sentences, and as many rows of each class as the rarest has, drawn at random: so did
the authors, as their notebook says. `report` compares by Spearman's correlation: of lengths, and of
the angles between all pairs of features that are at least 5 % as long as the longest. Neither
depends on rotation or reflection.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import vl_convert
from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.methods.feature_vectors import CountingUnit, Growth, Rule
from onnxplain_server.methods.feature_vectors.geometry import between, norms
from onnxplain_server.plots.elements.style import CONFIG, PLAIN_COLOUR, SERIES_COLOURS
from scipy.stats import spearmanr

from bench.accuracy.feature_vectors_study import vectors
from bench.seeds import openml
from bench.shared.tables import Table

RESULTS = Path(__file__).parent / "results/published_plots.json"
PICTURE = Path(__file__).parents[2] / "docs/images/seeds-published-plots.png"
Told: TypeAlias = dict[str, dict[str, Any]]
"""Comparisons by table: counts, digest of the plot, and agreements of each kind."""
_KEPT = Path(__file__).parents[2] / "build/published-plots"
_SEEDS = range(3)
_SENTENCES, _DEPTH = 20_000, 3
_SHORT = 0.05
# The package loses the order of splits on a path, so that any two of three may be neighbours.
PACKAGE_RULE = Rule(window=3, counting=CountingUnit.PER_PATH, fill_diagonal=True, min_split_count=3)


def balanced(table: Table, seed: int) -> Table:
    """Draw as many rows of each class as the rarest has."""
    random = np.random.default_rng(seed)
    classes, counts = np.unique(table.target, return_counts=True)
    drawn = [
        random.choice(np.flatnonzero(table.target == one), counts.min(), replace=False)
        for one in classes
    ]
    rows = np.sort(np.concatenate(drawn))
    return Table(table.names, tuple(column[rows] for column in table.columns), table.target[rows])


def compute(kind: str, table: Table, seed: int) -> Matrix:
    """Return vectors in the order of the columns: (n_features, 2)."""
    match kind:
        case "definition":
            return vectors(table, Growth(_SENTENCES), seed).embedding.vectors
        case "settings":
            growth = Growth(_SENTENCES, _DEPTH)
            return vectors(table, growth, seed, rule=PACKAGE_RULE).embedding.vectors
        case "package":
            return _package(table, seed)
    raise SystemExit(__doc__)


def _package(table: Table, seed: int) -> Matrix:
    """Run the authors' package, written for numpy before 1.24, which had a name for `float`."""
    vars(np).setdefault("float", float)
    package = importlib.import_module("fvecs.featurevec")
    np.random.seed(seed)  # noqa: NPY002 - its forest draws from numpy's global state
    one = package.FeatureVec("classify", list(table.names), _DEPTH, _SENTENCES)
    columns = [pd.Series(column, dtype=column.dtype) for column in table.columns]
    frame = pd.DataFrame(dict(zip(table.names, columns, strict=True)))
    texts = [name for name in table.names if frame[name].dtype == object]
    one.fit(frame, np.unique(table.target, return_inverse=True)[1], categorical_feats=texts)
    found: Matrix = one.vectors
    return found


def agreement(first: Matrix, second: Matrix) -> dict[str, float]:
    """Compare vectors: Spearman's correlations of lengths and of angles, and counts of both."""
    lengths = norms(first), norms(second)
    kept = np.all([one >= _SHORT * one.max() for one in lengths], axis=0)
    pairs = np.triu_indices(int(kept.sum()), 1)
    angles = [between(one[kept])[pairs] for one in (first, second)]
    return {
        "lengths": float(spearmanr(*lengths).statistic),
        "angles": float(spearmanr(*angles).statistic),
        "pairs": len(pairs[0]),
    }


def run(folder: Path, kind: str, seed: int, names: list[str]) -> None:
    _KEPT.mkdir(parents=True, exist_ok=True)
    for name in names or openml.NAMES:
        path = _path(name, kind, seed)
        if not path.exists():
            start = time.perf_counter()
            np.save(path, compute(kind, balanced(openml.load(folder, name), seed), seed))
            print(f"{name}: {kind}, seed {seed}, {time.perf_counter() - start:.0f} s", flush=True)


def _path(name: str, kind: str, seed: int) -> Path:
    return _KEPT / f"{name}-{kind}-{seed}.npy"


def report(folder: Path) -> None:
    """Write what was compared, table by table."""
    told: Told = {}
    kinds = [kind for kind in LABELS if kind != "package_itself"]
    for name in openml.NAMES:
        table = openml.load(folder, name)
        features, shown = openml.published(folder, name)
        order = [openml.position(table.names, feature) for feature in features]
        told[name] = {
            "features": len(features),
            "rows": len(balanced(table, 0).target),
            "plot_sha256": openml.digest(folder, name),
            **{kind: list(_against(name, kind, order, shown)) for kind in kinds},
            "package_itself": list(_itself(name)),
        }
    RESULTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    _print(told)
    _draw(told)


def _print(told: Told) -> None:
    """Print a table of the document: means over runs, to two decimals."""
    for name, one in told.items():
        cells = [
            f"{_mean(one[kind], measure):.2f}" if one[kind] else ""
            for kind in LABELS
            for measure in ("lengths", "angles")
        ]
        print(f"| {name} | {one['features']} | {one['rows']:,} | {' | '.join(cells)} |")


def _mean(runs: list[dict[str, float]], measure: str) -> float:
    return float(np.mean([run[measure] for run in runs]))


def _draw(told: Told) -> None:
    """Draw all tables as points, and their median as a line."""
    values = [
        {"what": label, "measure": measure, "correlation": _mean(one[kind], measure)}
        for one in told.values()
        for kind, label in LABELS.items()
        if one[kind]
        for measure in ("lengths", "angles")
    ]
    x = {
        "field": "correlation",
        "type": "quantitative",
        "title": "Spearman's correlation",
        "scale": {"domain": [-0.5, 1]},
    }
    y = {"field": "what", "type": "nominal", "title": None, "sort": list(LABELS.values())}
    points = {"type": "point", "filled": True, "size": 36, "opacity": 0.6, "color": PLAIN_COLOUR}
    median = {"type": "tick", "thickness": 3, "size": 22, "color": SERIES_COLOURS[5]}
    spec = {
        "title": {
            "text": "Vectors of tables beside the authors' plots",
            "subtitle": "Points: tables, the mean of their runs. Lines: medians",
        },
        "data": {"values": values},
        "facet": {"column": {"field": "measure", "sort": ["lengths", "angles"], "title": None}},
        "spec": {
            "width": 270,
            "height": 150,
            "layer": [
                {"mark": points, "encoding": {"x": x, "y": y}},
                {"mark": median, "encoding": {"x": x | {"aggregate": "median"}, "y": y}},
            ],
        },
        "config": CONFIG,
    }
    PICTURE.write_bytes(vl_convert.vegalite_to_png(json.dumps(spec), scale=1.5))


LABELS = {
    "definition": "the definition",
    "settings": "the package's settings",
    "package": "the authors' package",
    "package_itself": "the package with itself",
}


def _against(name: str, kind: str, order: list[int], shown: Matrix) -> Iterator[dict[str, float]]:
    for found in _runs(name, kind):
        yield agreement(found[order], shown)


def _itself(name: str) -> Iterator[dict[str, float]]:
    """Compare all pairs of runs of the package."""
    found = list(_runs(name, "package"))
    for i, second in enumerate(found):
        for first in found[:i]:
            yield agreement(first, second)


def _runs(name: str, kind: str) -> Iterator[Array]:
    paths = (_path(name, kind, seed) for seed in _SEEDS)
    return (np.load(path) for path in paths if path.exists())


def main() -> None:
    match sys.argv[1:]:
        case ["run", folder, kind, seed, *names]:
            run(Path(folder), kind, int(seed), names)
        case ["report", folder]:
            report(Path(folder))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
