"""Coverage of 90 % intervals from tables of 50 to 2,000 rows.

    python -m bench.accuracy.interval_coverage [ROW_COUNT]...

Measurements are saved in build/coverage, so that a run can be resumed. The table of all saved
measurements is written into docs/studies/intervals.md.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.language import ColumnValues, parse
from onnxplain_server.methods import feature_vectors, firm, interactions, permutation_importance
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.resampling import Resampling, RowUnits, Scheme, t_quantile
from scipy.stats import binom

from bench.accuracy.coverage_problems import (
    FEATURES,
    FUNCTIONS,
    HELD_OUT,
    Function,
    drawn,
    effects,
    even,
    run,
)

PAGE = Path(__file__).parents[2] / "docs/studies/intervals.md"
SAVED = Path(__file__).parents[2] / "build/coverage"
LEVEL, REPEATS, SHUFFLES, FORESTS = 0.9, 100, 4, 10
DRAWS = {50: 200, 150: 200, 500: 100, 2_000: 30}
"""Tables by their rows."""
OF_LENGTHS = 8
"""Tables of feature vectors, whatever their rows."""
LEAST = 1e-4
"""Statistics below it are not judged."""

Held = dict[str, list[bool]]
"""By kind and number: whether each interval held the truth."""


def interacting(
    function: Function, rows: Matrix, resampling: Resampling
) -> dict[tuple[str, str], interactions.Statistic]:
    options = interactions.Options(pairwise_feature_count=3, resampling=resampling)
    engine = effects(function, rows)
    result = interactions.compute(engine, interactions.resolve(options, FEATURES, ""), seed=0)
    kinds = {
        "H²": (result.total,),
        "H²_j": result.overall,
        "H²_jk": result.pairwise,
        "importance_j": result.importance,
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
    sheet = firm.ScoredRows(
        columns, np.ones(row_count), score, ("y",), RowUnits(np.arange(row_count))
    )
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
    """Measure what is not saved yet."""
    SAVED.mkdir(parents=True, exist_ok=True)
    for measurement in MEASURES:
        path = SAVED / f"{measurement.__name__}-{row_count}.json"
        if not path.exists():
            held: Held = defaultdict(list)
            measurement(row_count, held)
            path.write_text(json.dumps(held))
        print(f"{row_count:,} rows: {measurement.__name__}", file=sys.stderr, flush=True)


def shares(row_count: int) -> dict[str, str]:
    """Of each kind the mean over its numbers, and the lowest and highest of these."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    tables: dict[str, int] = {}
    for measurement in MEASURES:
        path = SAVED / f"{measurement.__name__}-{row_count}.json"
        for key, held in json.loads(path.read_text()).items() if path.exists() else ():
            kind = key.split("|")[0]
            by_kind[kind].append(float(np.mean(held)))
            tables[kind] = len(held)
    return {kind: cell(of, tables[kind]) for kind, of in by_kind.items()}


def cell(shares: list[float], n_tables: int) -> str:
    """Write the shares of a kind; with a star where chance alone seldom leaves one so low."""
    star = " *" if min(shares) < by_chance(len(shares), n_tables) else ""
    text = f"{np.mean(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})"
    return text.replace("%", " %") + star


def by_chance(n_numbers: int, n_tables: int) -> float:
    """Lowest of so many shares that 5 runs of 100 fall below, though each holds its level."""
    return float(binom.ppf(1 - 0.95 ** (1 / n_numbers), n_tables, LEVEL)) / n_tables


def table() -> str:
    columns = {n: column for n in DRAWS if (column := shares(n))}
    heads = " | ".join(f"{n:,} rows, {DRAWS[n]} tables" for n in columns)
    lines = [f"| 90 % intervals of | {heads} |", "| --- |" + " ---: |" * len(columns)]
    for kind in dict.fromkeys(kind for column in columns.values() for kind in column):
        cells = " | ".join(c.get(kind, "not measured") for c in columns.values())
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
