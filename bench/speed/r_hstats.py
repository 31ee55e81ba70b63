"""Trees engine beside R's hstats: interactions of a forest of ranger, and of hstats' example.

python -m bench.speed.r_hstats

The forest is grown in R and written as ONNX by clients/r: R predicts it by ranger, onnxplain reads
the file. Of hstats' own example, house prices in Miami by XGBoost, hstats predicts the ONNX file by
onnxruntime. Both are asked for H², H²_j, H²_jk of the five features with most interaction, and
H²_jkl of three, at the same 500 rows.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxplain
import pandas as pd

from bench.shared.commands import R_PYTHON, ROOT
from bench.speed_table.row import RUNS, Row, Unit, in_turn, lines, seconds

SCRIPT = Path(__file__).with_suffix(".R")
MIAMI = ROOT / "examples" / "miami"
HOUSES = MIAMI / "published" / "rows.csv"
PUBLISHED = MIAMI / "published" / "miami_xgboost.onnx"
TARGET = "log_price"
INTERACTIONS = onnxplain.Interactions(pairwise_feature_count=5, threeway_feature_count=3)
TOLERANCE = 1e-5
"""Largest difference of H² for statistics that count as equal: onnxruntime predicts in float32."""

Statistics = Mapping[frozenset[str], float]


class Hstats(NamedTuple):
    """Answer of hstats: statistics, its wall seconds, and versions of R, hstats and ranger."""

    statistics: Statistics
    seconds: float
    versions: tuple[str, str, str]


def hstats(model: Path) -> Hstats:
    """Ask hstats in a process of its own; its time begins when model and rows are loaded."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        printed = subprocess.check_output(
            [rscript(), SCRIPT, "ask", model, HOUSES, file.name],
            env={**os.environ, "RETICULATE_PYTHON": str(R_PYTHON)},
            text=True,
        )
        with Path(file.name).open(encoding="utf-8", newline="") as written:
            found = {_features(row): float(row["value"]) for row in csv.DictReader(written)}
    taken, r, package, ranger = printed.split()
    return Hstats(found, float(taken), (r, package, ranger))


def rscript() -> str:
    """Return the path of Rscript."""
    path = shutil.which("Rscript")
    if path is None:
        raise FileNotFoundError("Rscript: python tools/programs.py install Rscript")
    return path


def _features(row: Mapping[str, str]) -> frozenset[str]:
    return frozenset(filter(None, row["features"].split(":")))


def forest(folder: Path) -> None:
    """Grow a forest of ranger on all houses: forest.rds and forest.onnx."""
    houses = pd.read_csv(MIAMI / "miami_housing.csv.gz")
    rows = houses[[*pd.read_csv(HOUSES, nrows=1)]]
    training = folder / "training.csv"
    rows.assign(**{TARGET: np.log(houses["SALE_PRC"])}).to_csv(training, index=False)
    paths = (ROOT / "clients" / "r", training, TARGET, folder)
    subprocess.run([rscript(), SCRIPT, "fit", *paths], check=True)


def ours(model: Path, rows: pd.DataFrame) -> Statistics:
    """Ask onnxplain in this process, with a model that it has not seen."""
    with onnxplain.local() as client:
        found = client.explain(model, rows, INTERACTIONS, plots=False).interactions
    kinds = ([found.total], found.overall, found.pairwise, found.threeway)
    return {frozenset(one.features): float(one.values[0]) for kind in kinds for one in kind}


def beside(model: Path, theirs: Path, runs: int) -> tuple[list[float], list[float], Hstats, float]:
    """Measure both in turn.

    Returns our seconds and theirs, an answer of hstats, and the largest difference of H².
    """
    rows = pd.read_csv(HOUSES)
    mine, answer = ours(model, rows), hstats(theirs)
    if mine.keys() != answer.statistics.keys():
        raise RuntimeError("hstats and onnxplain were asked for different statistics")
    difference = max(abs(mine[key] - answer.statistics[key]) for key in mine)
    if difference > TOLERANCE:
        raise RuntimeError(f"hstats and onnxplain differ by {difference:.1g}")
    if runs == 1:
        times = [seconds(lambda: ours(model, rows)) for _ in range(RUNS)]
        return times, [answer.seconds], answer, difference
    found = in_turn(
        lambda: seconds(lambda: ours(model, rows)), lambda: hstats(theirs).seconds, runs
    )
    return *found, answer, difference


def rows() -> Iterator[Row]:
    """Measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        forest(folder)
        times, slow, answer, difference = beside(
            folder / "forest.onnx", folder / "forest.rds", runs=1
        )
    r, package, ranger = answer.versions
    asked = "H², 6 H²_j, 10 H²_jk and 1 H²_jkl"
    same = f"hstats' {len(answer.statistics)} statistics and ours differ by at most"
    yield Row(
        f"{asked} of a forest of ranger, 100 trees of depth 10, 500 houses of Miami",
        Unit.SECONDS,
        times,
        f"hstats {package} over ranger {ranger}, R {r}",
        slow,
        note=f"ranger: {same} {difference:.0e}. One run of hstats.",
        headline="Interactions of a random forest of R, 500 rows",
    )
    times, slow, _, difference = beside(PUBLISHED, PUBLISHED, RUNS)
    yield Row(
        f"{asked} of hstats' example: XGBoost, 310 trees of depth 5, 500 houses of Miami",
        Unit.SECONDS,
        times,
        f"hstats {package} over onnxruntime by reticulate, R {r}",
        slow,
        note=f"XGBoost: {same} {difference:.0e}.",
        headline="Interactions of hstats' own example, 500 rows",
    )


def main() -> None:
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
