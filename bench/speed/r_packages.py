"""Interactions by packages of R beside the trees engine: the same gbm model, the same rows.

python -m bench.speed.r_packages [--keep]

An R script fits the model, exports it by clients/r, and asks each package that is installed. Times
are processor seconds, ours with the model read and checked from its file. With --keep, the figures
go into r_packages.json and into the table of docs/studies/landscape.md.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnxplain
import pandas as pd

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = HERE / "r_packages.json"
PAGE = ROOT / "docs" / "studies" / "landscape.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end -->"
TARGET = "quality"
EVERY = 8
"""Of 1,599 wines, each eighth is explained: brute force grows with the square."""
SHOWN = 5
"""Pairs whose H is told."""

Features = frozenset[str]


def main() -> None:
    rscript = shutil.which("Rscript")
    if rscript is None:
        print("Rscript is not installed: apt-get install r-base-core r-cran-gbm")
        return
    with tempfile.TemporaryDirectory() as name:
        figures = measure(rscript, Path(name))
    for row in figures["packages"]:
        print(told(row))
    if "--keep" in sys.argv:
        KEPT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(before + BEGIN + table(figures) + END + after, encoding="utf-8")


def measure(rscript: str, folder: Path) -> dict[str, Any]:
    wines = pd.read_csv(ROOT / "bench" / "data" / "wine_quality_red.csv.gz")
    rows = wines.iloc[::EVERY]
    wines.to_csv(folder / "wines.csv", index=False)
    rows.to_csv(folder / "rows.csv", index=False)
    tables = (folder / "wines.csv", folder / "rows.csv")
    subprocess.run(
        [rscript, HERE / "r_packages.R", ROOT / "clients" / "r", *tables, TARGET, folder],
        check=True,
        capture_output=True,
    )
    ours, seconds = explained(folder / "model.onnx", rows)
    statistics = read_table(folder / "statistics.csv")
    packages = [
        {**row, **compared([one for one in statistics if is_of(one, row)], ours), "ours": seconds}
        for row in read_table(folder / "times.csv")
    ]
    return {"rows": len(rows), "packages": packages, "pairs": strongest(statistics, ours)}


def read_table(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_of(statistic: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all(statistic[name] == row[name] for name in ("package", "asked"))


def strongest(
    statistics: Sequence[Mapping[str, Any]], ours: Mapping[Features, float]
) -> list[dict[str, Any]]:
    """Return H of the pairs that gbm finds strongest, by its averages and by ours."""
    pairs = [row for row in statistics if row["package"] == "gbm"]
    pairs.sort(key=lambda row: -float(row["value"]))
    return [
        {
            "pair": " × ".join(row["features"].split(":")),
            "gbm": math.sqrt(float(row["value"])),
            "ours": math.sqrt(ours[features_of(row)]),
        }
        for row in pairs[:SHOWN]
    ]


def features_of(row: Mapping[str, Any]) -> Features:
    return frozenset(filter(None, row["features"].split(":")))


def explained(model: Path, rows: pd.DataFrame) -> tuple[dict[Features, float], float]:
    """Return every H², H²_j and H²_jk, and the fastest processor seconds of three after a first."""
    asked = onnxplain.Interactions(pairwise_feature_count=rows.shape[1] - 1)
    taken = []
    with onnxplain.local() as client:
        for _ in range(4):
            begin = time.process_time()
            found = client.explain(model, rows.drop(columns=TARGET), asked, plots=False)
            taken.append(time.process_time() - begin)
    result = found.interactions
    statistics = [result.total, *result.overall, *result.pairwise]
    return {frozenset(one.features): float(one.values[0]) for one in statistics}, min(taken[1:])


def compared(
    theirs: Sequence[Mapping[str, Any]], ours: Mapping[Features, float]
) -> dict[str, float]:
    """Return the largest relative difference of their H² from ours, and how many there are."""
    differences = [abs(float(row["value"]) / ours[features_of(row)] - 1) for row in theirs]
    return {"statistics": len(theirs), "difference": max(differences, default=0.0)}


def told(row: dict[str, Any]) -> str:
    if row["seconds"] == "":
        return f"{row['package']}: not installed"
    ratio = float(row["seconds"]) / row["ours"]
    return (
        f"{row['package']} {row['version']}, {row['asked']}: {row['statistics']} statistics, "
        f"largest difference {row['difference']:.2g}, {float(row['seconds']):.2f} s, "
        f"{ratio:.0f} times ours"
    )


def table(figures: dict[str, Any]) -> str:
    lines = [
        "\n| Package | Asked | Statistics | Largest difference | Processor seconds | Times ours |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in figures["packages"]:
        if row["seconds"] == "":
            lines.append(f"| {row['package']} | {row['asked']} | not installed | | | |")
            continue
        seconds = float(row["seconds"])
        lines.append(
            f"| {row['package']} {row['version']} | {row['asked']} | {row['statistics']} | "
            f"{row['difference']:.2g} | {seconds:.2f} | {seconds / row['ours']:.0f} |"
        )
    ours = figures["packages"][0]["ours"]
    lines.append(f"| trees engine | all of these at once | | | {ours:.3f} | 1 |")
    lines += ["", "| Pair | H of gbm | H of the trees engine |", "|---|---:|---:|"]
    lines += [
        f"| {row['pair']} | {row['gbm']:.4f} | {row['ours']:.4f} |" for row in figures["pairs"]
    ]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    main()
