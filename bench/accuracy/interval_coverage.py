"""Coverage of 90 % intervals from tables of 50 to 2,000 rows.

    python -m bench.accuracy.interval_coverage [ROW_COUNT]...

What was measured is kept in build/coverage, so that a run can be ended and taken up again. The
table of all that is kept is written into docs/studies/intervals.md.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.model import Input, Note
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.methods import feature_vectors, firm, interactions, permutation_importance
from onnxplain_server.methods.firm.language import ColumnValues, parse
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.resampling import Resampling, Scheme, t_quantile
from onnxplain_server.methods.target import Comparison
from scipy.stats import binom, norm, qmc

from bench.shared import engines
from bench.shared.null_host import NullHost

PAGE = Path(__file__).parents[2] / "docs/studies/intervals.md"
KEPT = Path(__file__).parents[2] / "build/coverage"
LEVEL, REPEATS, SHUFFLES, FORESTS = 0.9, 100, 4, 10
DRAWS = {50: 200, 150: 200, 500: 100, 2_000: 30}
"""Tables by their rows."""
OF_LENGTHS = 8
"""Tables of feature vectors, whatever their rows."""
FEATURES = ("a", "b", "c")
LEAST = 1e-4
"""Statistics below it are not judged."""

Function = Callable[[Vector, Vector, Vector], Vector]
Held = dict[str, list[bool]]
"""By kind and number: whether each interval held the truth."""

FUNCTIONS: dict[str, Function] = {
    "waves": lambda a, b, c: np.sin(a * b) + np.cos(2 * c) + 0.5 * a * (c > 0),
    "steps": lambda a, b, c: ((a > 0) & (b > 0.3)) + 0.6 * (c > 0) + 0.5 * ((c > 1) & (a < 0.5)),
    "products": lambda a, b, c: a * b + np.sin(3 * c) + np.maximum(a, c),
    "weak": lambda a, b, c: a + b + c + 0.15 * a * b + 0.1 * np.abs(b) * c,
    "heavy": lambda a, b, c: np.exp(0.5 * (a + b)) + c + 0.3 * b * c,
}
HELD_OUT: dict[str, Function] = {
    "ratio": lambda a, b, c: a / (1 + b**2) + c,
    "distance": lambda a, b, c: np.sqrt(a**2 + b**2 + c**2),
    "probability": lambda a, b, c: 1 / (1 + np.exp(-(a + b * c))),
}
"""Functions that were not looked at while the intervals were made."""


@dataclass(frozen=True)
class FunctionModel:
    """A function of three features as a model."""

    function: Function
    inputs: tuple[Input, ...] = (Input("rows", "double", 3),)
    output_names: tuple[str, ...] = ("y",)
    notes: tuple[Note, ...] = ()
    has_class_scores = False

    @property
    def roundings(self) -> Vector:
        return np.array([2.0**-53])

    def unused(self, n_features: int, outputs: Indices) -> frozenset[int]:  # noqa: ARG002
        return frozenset()

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        values: Array = self.function(*feeds["rows"].T).astype(np.float64)[:, None]
        return values


_POOL = ThreadPoolExecutor(1)
_BATCH_SIZE = BatchSize()


def run(function: Callable[[Any], Any], parts: Any) -> list[Any]:
    return [function(part) for part in parts]


def effects(function: Function, rows: Matrix) -> BlackBox:
    predictor = Predictor(
        FunctionModel(function), np.arange(1), Ledger(NullHost()), _BATCH_SIZE, _POOL
    )
    return BlackBox(
        predictor, engines.background(rows.astype(np.float32), FEATURES, merged=False), "RESPONSE"
    )


def drawn(row_count: int, seed: int) -> Matrix:
    return np.random.default_rng([row_count, seed]).normal(size=(row_count, 3))


def even(row_count: int) -> Matrix:
    """Rows that fill the normal distribution more evenly than chance does: the truth."""
    points = qmc.Sobol(3, seed=0).random(row_count)
    normal: Matrix = norm.ppf(np.clip(points, 1e-9, 1 - 1e-9))
    return normal


def interacting(
    function: Function, rows: Matrix, resampling: Resampling
) -> dict[tuple[str, str], interactions.Statistic]:
    options = interactions.Options(pairwise_feature_count=3, resampling=resampling)
    engine = effects(function, rows)
    found = interactions.compute(engine, interactions.resolve(options, FEATURES, ""), seed=0)
    kinds = {
        "H²": (found.total,),
        "H²_j": found.overall,
        "H²_jk": found.pairwise,
        "importance_j": found.importance,
    }
    return {(kind, " × ".join(s.features)): s for kind, of in kinds.items() for s in of}


@cache
def whole(name: str) -> dict[tuple[str, str], interactions.Statistic]:
    return interacting((FUNCTIONS | HELD_OUT)[name], even(2_048), Resampling())


def of_interactions(row_count: int, held: Held) -> None:
    """The truth is that of rows without end."""
    for name in FUNCTIONS:
        of_function(name, Scheme.BOOTSTRAP, "interactions", row_count, held)
    of_function("waves", Scheme.JACKKNIFE, "interactions", row_count, held)


def of_others(row_count: int, held: Held) -> None:
    """The same of functions that were not looked at."""
    for name in HELD_OUT:
        of_function(name, Scheme.BOOTSTRAP, "other functions", row_count, held)


def of_function(name: str, scheme: Scheme, title: str, row_count: int, held: Held) -> None:
    resampling = Resampling(REPEATS, scheme, LEVEL)
    function, truth = (FUNCTIONS | HELD_OUT)[name], whole(name)
    for seed in range(DRAWS[row_count]):
        found = interacting(function, drawn(row_count, seed), resampling)
        for key, statistic in found.items():
            true, spread = truth[key].values[0], statistic.spread
            if true > LEAST and spread is not None:
                inside = spread.lower[0] <= true <= spread.upper[0]
                kind = f"{title}: {key[0]}, {scheme.value.lower()}"
                held[f"{kind}|{name} {key[1]}"].append(bool(inside))


def exchanged_loss(function: Function, rows: Matrix, actual: Vector, feature: int) -> float:
    """Average squared error over all shuffles: each row with the value of every row."""
    columns = [rows[:, None, k] for k in range(3)]
    columns[feature] = rows[None, :, feature]
    return float(np.mean((actual[:, None] - function(*columns)) ** 2))


def of_shuffles(row_count: int, held: Held) -> None:
    """The truth is that of all shuffles of these rows; beside it, that of rows without end."""
    reach = t_quantile(LEVEL, SHUFFLES, SHUFFLES)
    options = permutation_importance.Options(
        tuple((name,) for name in FEATURES), Comparison(Loss.SQUARED_ERROR), SHUFFLES
    )
    for name, function in FUNCTIONS.items():
        every = even(2_048)
        beyond = [exchanged_loss(function, every, function(*every.T), j) for j in range(3)]
        for seed in range(DRAWS[row_count]):
            rows = drawn(row_count, seed)
            noise = np.random.default_rng([seed, 1]).normal(0, 0.5, row_count)
            actual = function(*rows.T) + noise
            before = float(np.mean(noise**2))
            found = permutation_importance.compute(
                effects(function, rows), options, actual[:, None], seed
            )
            for j, one in enumerate(found.importances):
                if beyond[j] < LEAST:
                    continue
                width = reach * one.standard_errors[0]
                true = exchanged_loss(function, rows, actual, j) - before
                for title, at in (("these rows", true), ("other rows", beyond[j])):
                    inside = abs(one.values[0] - at) <= width
                    held[f"permutation importance: {title}|{name} {j}"].append(bool(inside))


MEASURED = (
    ("x", None),
    ("u", None),
    ("h", None),
    ("k", None),
    ("half", None),
    ("tenth", None),
    ("x", firm.Estimator.SLOPE),
    ("h", firm.Estimator.SLOPE),
    ("x", firm.Estimator.SMOOTH),
)
"""Features and estimators; None: `BINNED`, or `TWO_VALUED` of a share of rows."""


def scored(row_count: int, seed: int) -> tuple[ColumnValues, Matrix]:
    """Columns of five kinds, and a score with what no column explains."""
    random = np.random.default_rng([row_count, seed])
    x, u = random.normal(size=(2, row_count))
    h = random.lognormal(sigma=0.8, size=row_count)
    half, tenth = (1.0 * (random.random(row_count) < share) for share in (0.5, 0.1))
    k = random.integers(0, 4, row_count).astype(float)
    score = np.sin(2 * x) + 0.5 * x + 0.3 * h + half + tenth + 0.4 * (k == 2) + 0.6 * np.exp(u / 2)
    return ColumnValues({"x": x, "u": u, "h": h, "half": half, "tenth": tenth, "k": k}), score[
        :, None
    ]


def measured(row_count: int, seed: int, repeats: int) -> Iterator[firm.Result]:
    columns, score = scored(row_count, seed)
    sheet = firm.ScoredRows(columns, np.ones(row_count), score, ("y",))
    for feature, estimator in MEASURED:
        resampling = Resampling(repeats, confidence_level=LEVEL)
        options = firm.Options((feature,), estimator=estimator, resampling=resampling)
        expressions = [parse(feature, columns.kinds, "")]
        yield firm.compute(expressions, sheet, options, None, 0, run)


@cache
def true_importances() -> list[float]:
    return [float(found.importances[0].values[0]) for found in measured(400_000, 0, 0)]


def of_firm(row_count: int, held: Held) -> None:
    """The truth is that of 400,000 rows."""
    truth = true_importances()
    for seed in range(DRAWS[row_count]):
        for (feature, _), true, found in zip(
            MEASURED, truth, measured(row_count, seed + 1, REPEATS), strict=True
        ):
            (one,) = found.importances
            if one.spread is not None and np.isfinite(one.spread.lower[0]):
                inside = one.spread.lower[0] <= true <= one.spread.upper[0]
                held[f"FIRM: {one.estimator.value}|{feature}"].append(bool(inside))


def of_lengths(row_count: int, held: Held) -> None:
    """The truth is the mean length of 20 other forests, of the same rows."""
    names = ("x", "u", "h", "half", "tenth", "k")
    reach = t_quantile(LEVEL, FORESTS, FORESTS)
    growth = feature_vectors.Growth(sentence_count=500, depth=4)

    def options(repeats: int) -> feature_vectors.Options:
        return feature_vectors.Options(
            feature_vectors.PathSource.LABELS, names, growth=growth, repeat_count=repeats
        )

    for seed in range(OF_LENGTHS):
        columns, score = scored(row_count, seed)
        taken = tuple(columns[name] for name in names)
        lesson = feature_vectors.TrainingData(taken, None, score, False, np.ones(row_count))
        others = [
            feature_vectors.from_training_data(options(0), lesson, 1_000 + i, run).norms
            for i in range(20)
        ]
        found = feature_vectors.from_training_data(options(FORESTS), lesson, seed, run)
        if found.stability is None:
            raise ValueError("no repetitions")
        apart = np.abs(found.norms - np.mean(others, axis=0))
        inside = apart <= reach * found.stability.norm_standard_errors
        for name, is_inside in zip(names, inside.tolist(), strict=True):
            held[f"feature vectors: lengths|{name}"].append(is_inside)


MEASURES = (of_interactions, of_others, of_shuffles, of_firm, of_lengths)


def measure(row_count: int) -> None:
    """Measure what is not kept yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for one in MEASURES:
        path = KEPT / f"{one.__name__}-{row_count}.json"
        if not path.exists():
            held: Held = defaultdict(list)
            one(row_count, held)
            path.write_text(json.dumps(held))
        print(f"{row_count:,} rows: {one.__name__}", file=sys.stderr, flush=True)


def shares(row_count: int) -> dict[str, str]:
    """Of each kind the mean over its numbers, and the lowest and highest of these."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    tables: dict[str, int] = {}
    for one in MEASURES:
        path = KEPT / f"{one.__name__}-{row_count}.json"
        for key, held in json.loads(path.read_text()).items() if path.exists() else ():
            kind = key.split("|")[0]
            by_kind[kind].append(float(np.mean(held)))
            tables[kind] = len(held)
    return {kind: cell(of, tables[kind]) for kind, of in by_kind.items()}


def cell(found: list[float], n_tables: int) -> str:
    """Write the shares of a kind; with a star where chance alone seldom leaves one so low."""
    star = " *" if min(found) < by_chance(len(found), n_tables) else ""
    told = f"{np.mean(found):.0%} ({min(found):.0%} to {max(found):.0%})"
    return told.replace("%", " %") + star


def by_chance(n_numbers: int, n_tables: int) -> float:
    """Lowest of so many shares that 5 runs of 100 fall below, though each holds its level."""
    return float(binom.ppf(1 - 0.95 ** (1 / n_numbers), n_tables, LEVEL)) / n_tables


def table() -> str:
    found = {n: shares(n) for n in DRAWS}
    found = {n: of for n, of in found.items() if of}
    heads = " | ".join(f"{n:,} rows, {DRAWS[n]} tables" for n in found)
    lines = [f"| 90 % intervals of | {heads} |", "| --- |" + " ---: |" * len(found)]
    for kind in dict.fromkeys(kind for of in found.values() for kind in of):
        cells = " | ".join(of.get(kind, "not measured") for of in found.values())
        lines.append(f"| {kind} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    for row_count in [int(word) for word in sys.argv[1:]] or list(DRAWS):
        measure(row_count)
        before, rest = PAGE.read_text().split("<!-- coverage -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        PAGE.write_text(f"{before}<!-- coverage -->\n\n{table()}\n\n<!-- end -->{after}")
    print(table())


if __name__ == "__main__":
    main()
