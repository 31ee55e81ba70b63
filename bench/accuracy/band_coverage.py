"""Coverage of 90 % intervals and simultaneous bands of curves, also of clustered rows.

    python -m bench.accuracy.band_coverage [--write]

Draws 200 tables of problems with known truth, and counts how many points, and how many whole
curves, have the truth within their bands. Clustered rows are resampled as rows and as clusters.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.language import ColumnValues, parse
from onnxplain_server.methods import accumulated_local_effects as ale
from onnxplain_server.methods import firm, interactions
from onnxplain_server.methods import partial_dependence as pd
from onnxplain_server.methods.firm.result import FirmImportance
from onnxplain_server.methods.resampling import Band, Resampling, RowUnits
from onnxplain_server.methods.sampled import curve_bands
from onnxplain_server.methods.sampled.replicated_curves import ResampledRows

from bench.accuracy.coverage_problems import FEATURES, FUNCTIONS, HELD_OUT, effects, even, run
from tools import figures

PAGE = Path(__file__).parents[2] / "docs/studies/intervals.md"
LEVEL, REPEATS, DRAWS = 0.9, 200, 200
_BEGIN, _END = "<!-- bands -->", "<!-- end of bands -->"
_RESAMPLING = Resampling(REPEATS, confidence_level=LEVEL)
_GRID = np.linspace(-2, 2, 25)
_SIDE = np.linspace(-1.5, 1.5, 6)
_WAVES = FUNCTIONS["waves"]
_CLUSTER_SIZE = 5


class Held(NamedTuple):
    """Share of the points whose intervals have the truth, and whether the whole band has it."""

    points: float
    whole: float


def held(band: Band, truth: Matrix) -> Held:
    inside = (band.lower <= truth) & (truth <= band.upper)
    wide = (band.simultaneous_lower <= truth) & (truth <= band.simultaneous_upper)
    return Held(float(inside.mean()), float(wide.all()))


def rows_of(row_count: int, seed: int) -> Matrix:
    return np.random.default_rng([row_count, seed, 49]).normal(size=(row_count, 3))


def clustered(row_count: int, seed: int) -> tuple[Matrix, Indices]:
    """Rows of clusters of five; features of one are alike."""
    random = np.random.default_rng([row_count, seed, 50])
    numbers = np.arange(row_count) // _CLUSTER_SIZE
    shared = random.normal(size=(row_count // _CLUSTER_SIZE, 3))[numbers]
    rows: Matrix = np.sqrt(0.8) * shared + np.sqrt(0.2) * random.normal(size=(row_count, 3))
    return rows, numbers


def averages(names: tuple[str, ...], points: list[Vector], function: str, rows: Matrix) -> Matrix:
    """Average the function over rows at points: (n_points, 1)."""
    moved = [FEATURES.index(name) for name in names]
    truth = []
    for point in zip(*points, strict=True):
        columns = list(rows.T)
        for j, value in zip(moved, point, strict=True):
            columns[j] = np.full(len(rows), value)
        truth.append(float((FUNCTIONS | HELD_OUT)[function](*columns).mean()))
    return np.array(truth)[:, None]


@cache
def true_curve(names: tuple[str, ...], function: str) -> Matrix:
    return averages(names, grid_of(names), function, even(1 << 14))


def grid_of(names: tuple[str, ...]) -> list[Vector]:
    if len(names) == 1:
        return [_GRID]
    return [each.ravel() for each in np.meshgrid(_SIDE, _SIDE)]


def curve(
    rows: Matrix, keys: RowUnits, seed: int, names: tuple[str, ...] = ("a",),
    function: str = "waves", *, is_sampled: bool = False,
) -> Held:  # fmt: skip
    """Partial dependence, from curves of all rows or of some."""
    engine = effects((FUNCTIONS | HELD_OUT)[function], rows)
    points, grids = [tuple(grid_of(names))], (dict(zip(names, grid_of(names), strict=True)),)
    options = pd.Options((names,), grids, resampling=_RESAMPLING)
    whole = [ResampledRows("", engine.background, keys)]
    plain = None
    if is_sampled:
        plain = pd.compute(engine, options, points, [pd.RowGroup("", engine.background)])
    found = curve_bands.compute(engine, options, points, whole, seed, plain).curves[0]
    assert found.band is not None  # noqa: S101 - it has replicates
    return held(found.band, true_curve(names, function))


def difference(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    """Rows with positive c less the others: of this group, the mean of c is known."""
    engine = effects(_WAVES, rows)
    parts = [np.flatnonzero(rows[:, 2] <= 0), np.flatnonzero(rows[:, 2] > 0)]
    groups = [
        ResampledRows(str(i), engine.background.take(part), keys.take(part))
        for i, part in enumerate(parts)
    ]
    options = pd.Options((("a",),), ({"a": _GRID},), resampling=_RESAMPLING)
    found = curve_bands.compute(engine, options, [(_GRID,)], groups, seed, None)
    return held(found.differences[0].band, true_difference())


@cache
def true_difference() -> Matrix:
    rows = even(1 << 14)
    low, high = (
        averages(("a",), [_GRID], "waves", rows[is_own])
        for is_own in (rows[:, 2] <= 0, rows[:, 2] > 0)
    )
    return high - low


def stepped(rows: Matrix) -> Matrix:
    """Make a of few values, and b depend on it."""
    few = np.clip(np.round(1.5 * rows[:, 0]), -2, 2)
    return np.column_stack([few, 0.6 * rows[:, 0] + 0.8 * rows[:, 1], rows[:, 2]])


def accumulated(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    """Accumulated local effects along a feature of few values."""
    found = accumulate(stepped(rows), keys, seed, _RESAMPLING)
    assert found.band is not None  # noqa: S101 - it has replicates
    return held(found.band, true_effect())


def accumulate(
    rows: Matrix, keys: RowUnits, seed: int, resampling: Resampling
) -> ale.AccumulatedLocalEffect:
    engine = effects(_WAVES, rows)
    options = ale.Options((("a",),), resampling=resampling)
    entries = list(ale.moves(options, [("", engine.background, keys)]))
    return ale.compute(engine, options, entries, seed).curves[0]


@cache
def true_effect() -> Matrix:
    rows = stepped(even(1 << 17))
    return accumulate(rows, RowUnits(np.arange(len(rows))), 0, Resampling()).values


def scored(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    """FIRM of a feature with two values."""
    found = measured(rows, keys, seed, _RESAMPLING)
    assert found.spread is not None  # noqa: S101 - it has replicates
    truth = true_importance()
    return Held(float(found.spread.lower[0] <= truth <= found.spread.upper[0]), np.nan)


def measured(rows: Matrix, keys: RowUnits, seed: int, resampling: Resampling) -> FirmImportance:
    columns = ColumnValues(dict(zip(FEATURES, rows.T, strict=True)))
    scores = np.asarray(_WAVES(*rows.T))[:, None]
    sheet = firm.ScoredRows(columns, np.ones(len(rows)), scores, ("y",), keys)
    options = firm.Options(("c > 0",), resampling=resampling)
    return firm.compute(
        [parse("c > 0", columns.kinds, "")], sheet, options, None, seed, run
    ).importances[0]


@cache
def true_importance() -> float:
    rows = even(1 << 17)
    return float(measured(rows, RowUnits(np.arange(len(rows))), 0, Resampling()).values[0])


def interacting(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    """H² of all features."""
    found = total(rows, keys, seed, _RESAMPLING)
    assert found.spread is not None  # noqa: S101 - it has replicates
    truth = true_total()
    return Held(float(found.spread.lower[0] <= truth <= found.spread.upper[0]), np.nan)


def total(
    rows: Matrix, keys: RowUnits, seed: int, resampling: Resampling
) -> interactions.Statistic:
    engine = effects(_WAVES, rows)
    options = interactions.Options(pairwise_feature_count=0, resampling=resampling)
    resolved = interactions.resolve(options, FEATURES, "")
    return interactions.compute(engine, resolved, seed, units=keys).total


@cache
def true_total() -> float:
    rows = even(2_048)
    found = total(rows, RowUnits(np.arange(len(rows))), 0, Resampling())
    return float(found.numerators[0] / found.denominators[0])


Measure = Callable[[Matrix, RowUnits, int], Held]


def surface(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    return curve(rows, keys, seed, ("a", "b"))


def heavy(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    return curve(rows, keys, seed, function="heavy")


def probability(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    return curve(rows, keys, seed, function="probability")


def sampled(rows: Matrix, keys: RowUnits, seed: int) -> Held:
    return curve(rows, keys, seed, is_sampled=True)


ALONE: dict[str, tuple[Measure, tuple[int, ...]]] = {
    "partial dependence": (curve, (50, 150, 500)),
    "partial dependence, a probability": (probability, (50, 150, 500)),
    "partial dependence, heavy tails": (heavy, (50, 150, 500)),
    "partial dependence, spread of 500 of the rows": (sampled, (2_000,)),
    "surface": (surface, (50, 150, 500)),
    "difference between groups": (difference, (50, 150, 500)),
    "accumulated local effects": (accumulated, (150, 500)),
}
IN_CLUSTERS: dict[str, Measure] = {
    "partial dependence": curve,
    "surface": surface,
    "difference between groups": difference,
    "accumulated local effects": accumulated,
    "FIRM, two values": scored,
    "interactions: H²": interacting,
}
CLUSTERED_ROWS = 500


def of_rows() -> Iterator[str]:
    counts = sorted({n for _, own in ALONE.values() for n in own})
    heads = " | ".join(f"{n:,} rows: points | whole" for n in counts)
    yield f"| 90 % bands of | {heads} |"
    yield "| --- |" + " ---: |" * (2 * len(counts))
    for name, (measure, own) in ALONE.items():
        cells = []
        for n in counts:
            found = n in own and shares(
                measure(rows_of(n, seed), RowUnits(np.arange(n)), seed) for seed in range(DRAWS)
            )
            cells += list(found or ("—", "—"))
        yield f"| {name} | {' | '.join(cells)} |"


def of_clusters() -> Iterator[str]:
    yield "| 90 % bands of | as rows: points | whole | as clusters: points | whole |"
    yield "| --- |" + " ---: |" * 4
    for name, measure in IN_CLUSTERS.items():
        cells: dict[bool, list[Held]] = defaultdict(list)
        for seed in range(DRAWS):
            rows, numbers = clustered(CLUSTERED_ROWS, seed)
            for are_clusters in (False, True):
                keys = numbers if are_clusters else np.arange(len(rows))
                cells[are_clusters].append(
                    measure(rows, RowUnits(keys, "clusters" if are_clusters else "rows"), seed)
                )
        yield f"| {name} | {' | '.join([*shares(cells[False]), *shares(cells[True])])} |"


def shares(found: Iterator[Held] | list[Held]) -> tuple[str, str]:
    means = np.mean(list(found), axis=0).tolist()
    points, whole = ("—" if np.isnan(share) else f"{100 * share:.0f} %" for share in means)
    return points, whole


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    is_written = arguments.parse_args().write
    alone, together = "\n".join(of_rows()), "\n".join(of_clusters())
    head = (
        f"{CLUSTERED_ROWS} rows in {CLUSTERED_ROWS // _CLUSTER_SIZE} clusters of {_CLUSTER_SIZE}:"
    )
    text = f"{alone}\n\n{head}\n\n{together}"
    print(text)
    if is_written:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        stamp = figures.stamp(("effects", "methods"))
        PAGE.write_text(f"{before}{_BEGIN}\n\n{stamp}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
