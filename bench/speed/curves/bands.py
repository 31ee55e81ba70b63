"""Cost of bands: processor time of curves of partial dependence, alone and with 200 replicates.

    OPENBLAS_NUM_THREADS=1 python -m bench.speed.curves.bands [--write]

Workers of a server compute with one thread of BLAS, so this does, too. Both are measured in turn,
in one run: the least time of several, each of rows that no cache has.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pyarrow.csv
from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.grids import cross
from onnxplain_server.methods import partial_dependence as pd
from onnxplain_server.methods.resampling import Resampling, RowUnits
from onnxplain_server.methods.sampled import curve_bands
from onnxplain_server.methods.sampled.replicated_curves import ResampledRows

from bench.shared import engines
from tools import figures

ROOT = Path(__file__).parents[3]
PAGE, MIAMI = ROOT / "docs/studies/intervals.md", ROOT / "examples" / "miami"
_BEGIN, _END = "<!-- costs -->", "<!-- end of costs -->"
COLUMNS = ("OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold")
CURVES = tuple((name,) for name in COLUMNS)
SURFACES = tuple(combinations(COLUMNS[:3], 2))
RUNS, REPEATS = 9, 200
HEAD = (
    f"Processor time for the houses of Miami, alone and with {REPEATS} replicates, by "
    "`python -m bench.speed.curves.bands --write`:"
)
Engine = engines.Trees | engines.Predicting


class Case(NamedTuple):
    """Curves, or surfaces, of so many rows."""

    row_count: int
    features: tuple[tuple[str, ...], ...]
    is_predicting: bool = False

    def line(self, engine: Engine, houses: Matrix) -> str:
        """Measure, and write a line of the table."""
        rows = houses[np.random.default_rng(0).permutation(len(houses))[: self.row_count]]
        alone, banded = self.seconds(engine, rows)
        noun = "surfaces" if self.features is SURFACES else "curves"
        name = "predictions" if self.is_predicting else "trees"
        more = f"{100 * (banded / alone - 1):.0f} %"
        return (
            f"| {len(self.features)} {noun} of {self.row_count:,} rows | {name} | "
            f"{1000 * alone:.0f} ms | {1000 * banded:.0f} ms | {more} |"
        )

    def seconds(self, engine: Engine, rows: Matrix) -> tuple[float, float]:
        """Return the least times, alone and with bands."""
        found: dict[bool, list[float]] = {False: [], True: []}
        for run_number in range(RUNS + 1):
            for has_bands in (False, True):
                own = houses_of(rows + 0.01 * run_number)
                start = time.process_time()
                self.compute(engine.on(own), own, has_bands=has_bands)
                found[has_bands].append(time.process_time() - start)
        return min(found[False][1:]), min(found[True][1:])

    def compute(self, engine: Effects, rows: Background, *, has_bands: bool) -> pd.Result:
        """Compute as a request does, with the default number of points."""
        options = pd.Options(self.features, resampling=Resampling(REPEATS))
        options = pd.resolve(options, COLUMNS, "")
        points = [grid_of(rows, names) for names in self.features]
        if not has_bands:
            return pd.compute(engine, options, points, [pd.RowGroup("", rows)])
        plain = None
        if not self.is_predicting:
            plain = pd.compute(engine, options, points, [pd.RowGroup("", rows)])
        resampled = [ResampledRows("", rows, RowUnits(rows.source))]
        return curve_bands.compute(engine, options, points, resampled, 0, plain)


CASES = (
    Case(500, CURVES, is_predicting=True),
    Case(500, CURVES),
    Case(13_932, CURVES),
    Case(13_932, SURFACES),
)


def grid_of(rows: Background, names: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    size = 49 if len(names) == 1 else 7
    columns = [rows.columns[COLUMNS.index(name)] for name in names]
    ends = [np.quantile(column, [0.01, 0.99]).tolist() for column in columns]
    return cross([np.linspace(low, high, size) for low, high in ends])


def houses_of(rows: Matrix) -> Background:
    kinds = (np.dtype(np.float32),) * len(COLUMNS)
    features = Features(COLUMNS, tuple(rows.T), kinds, "features")
    return unmerged(features, np.ones(len(rows)), np.arange(len(rows)))


def lines() -> Iterator[str]:
    table = pyarrow.csv.read_csv(MIAMI / "miami_housing.csv.gz")
    houses = np.stack([np.asarray(table[name], np.float64) for name in COLUMNS], axis=1)
    yield "| of | engine | alone | with bands | more |"
    yield "| --- | --- | ---: | ---: | ---: |"
    with ThreadPoolExecutor(1) as threads:
        model = onnx.load(MIAMI / "miami.onnx")
        by_trees, predicting = engines.trees(model, threads), engines.Predicting(model, threads)
        for case in CASES:
            yield case.line(predicting if case.is_predicting else by_trees, houses)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    is_written = arguments.parse_args().write
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        sys.exit("set OPENBLAS_NUM_THREADS=1, as workers have it")
    text = f"{HEAD}\n\n" + "\n".join(lines())
    print(text)
    if is_written:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        stamp = figures.stamp(("effects", "methods", "trees"))
        PAGE.write_text(f"{before}{_BEGIN}\n\n{stamp}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
