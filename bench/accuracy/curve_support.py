"""How often curves leave the data, on 14 tables; their shares beside brute force; and the cost.

Boosted trees of each table are explained with one curve for each feature, up to 60 of them.
`--write` writes docs/methods/partial-dependence.md. Brute force moves 50,000 rows, each to the
values of another one, and counts cells of tenths on all rows of the table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import onnxplain
import pandas as pd
import pyarrow.csv as arrow_csv
from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.explain.methods.support.curve_support import SupportOfCurves
from onnxplain_server.plots.claims.support import TOLD_OUTSIDE
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from bench.shared import tables

PAGE = Path("docs/methods/partial-dependence.md")
_BEGIN, _END = "<!-- support -->", "<!-- end of support -->"
_ROOT = Path(__file__).parents[2]
_FILES = {
    "Miami housing": _ROOT / "examples/miami/miami_housing.csv.gz",
    "Indian liver": _ROOT / "tests/models/data/indian_liver_patient.csv",
}
_LEFT_OUT = {"PARCELNO"}
_MOST_CURVES = 60
_MOVES = 50_000
_MOST_PREDICTED = 10
"""Curves by the black-box engine, whose cost alone is measured."""


class Row(NamedTuple):
    """What one table shows: its curves, the largest share, and what they took."""

    name: str
    row_count: int
    shares: dict[str, float]
    partners: dict[str, str]
    expected: dict[str, float]
    costs: tuple[float, ...]


def read(name: str) -> tuple[pd.DataFrame, Array]:
    """Return features, texts by the number of their level, and the target."""
    if name in _FILES:
        frame = arrow_csv.read_csv(_FILES[name]).to_pandas()
        frame = frame.drop(columns=_LEFT_OUT & {*frame.columns})
        target = frame.pop(frame.columns[-1]).to_numpy()
    else:
        table = tables.load(name)
        frame = pd.DataFrame(dict(zip(table.names, table.columns, strict=True)))
        target = table.target
    codes = {c: pd.factorize(frame[c])[0].astype(float) for c in frame if frame[c].dtype == object}
    return frame.assign(**codes).astype(np.float32), target


def brute_force(frame: pd.DataFrame, feature: str, used: list[str]) -> float:
    """Return the share of moved rows with a pair of tenths that lacks."""
    count = len(frame)
    moved, sources = np.random.default_rng(0).integers(count, size=(2, _MOVES))
    size = min(10, int((count / 10) ** 0.5))
    tenths = {c: _tenths(frame[c].to_numpy(np.float64), size) for c in used}
    outside = np.zeros(_MOVES, bool)
    for other in (c for c in used if c != feature):
        held = np.zeros((size + 1, size + 1))
        np.add.at(held, (tenths[feature], tenths[other]), 1)
        even = held.sum(axis=1, keepdims=True) * held.sum(axis=0) / count
        lacks = (held < 0.1 * even) & (even >= 10)
        outside |= lacks[tenths[feature][sources], tenths[other][moved]]
    return float(outside.mean())


def _tenths(column: Array, size: int) -> Indices:
    known = np.sort(column[~np.isnan(column)])
    ends = known[-(-np.arange(1, size) * len(known) // size) - 1]
    places = (column[:, None] > ends).sum(axis=1)
    # Equal ends leave numbers without rows, which are those of no cell.
    return np.where(np.isnan(column), size, places)


def timed(seconds: dict[str, float], name: str, function: Callable[..., Any]) -> Any:
    """Add the processor time of a function to that of its name."""

    def measured(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = function(*args, **kwargs)
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
        return result

    return measured


def study(name: str) -> Row:
    frame, target = read(name)
    kind = HistGradientBoostingClassifier if target.dtype.kind in "OU" else None
    model = (kind or HistGradientBoostingRegressor)(max_iter=50).fit(frame, target)
    exported, client = onnxplain.export(model, frame), onnxplain.local()
    seconds: dict[str, float] = {}
    for owner, method in ((SupportOfCurves, "told"), (SupportOfCurves, "sources_of")):
        setattr(owner, method, timed(seconds, "support", getattr(owner, method)))
    names = [*frame.columns[:_MOST_CURVES]]
    costs = []
    runs: list[tuple[Literal["TREES", "BLACK_BOX"], list[str]]]
    runs = [("BLACK_BOX", names[:_MOST_PREDICTED]), ("TREES", names)]
    for engine, told in runs:
        for grid_size in (48, 49):  # neither finds the other's effects in the cache
            asked = onnxplain.PartialDependence(features=told, grid_size=grid_size)
            seconds.clear()  # first uses compile and import
            start = time.process_time()
            answer = client.explain(exported, frame, asked, engine=engine)
            whole = time.process_time() - start
        costs.append(seconds["support"] / (whole - seconds["support"]))
    curves = answer.partial_dependence.curves
    used = [c for c, own in zip(names, curves, strict=True) if np.ptp(own.values, axis=0).any()]
    used += [*frame.columns[_MOST_CURVES:]]
    shares = {curve.features[0]: curve.outside_share for curve in curves}
    partners = {curve.features[0]: curve.outside_partner for curve in curves}
    expected = {c: brute_force(frame, c, used) for c in names if c in used}
    return Row(name, len(frame), shares, partners, expected, tuple(costs))


def written(rows: list[Row]) -> str:
    heads = ["Table", "Rows", "Curves", "Told", "Median share", "Largest", "along", "with"]
    heads += ["Brute force", "Cost, trees", "Cost, black box"]
    lines = [f"| {' | '.join(heads)} |", "|---|--:|--:|--:|--:|--:|---|---|--:|--:|--:|"]
    for row in rows:
        largest = max(row.shares, key=lambda c: (row.shares[c], c))
        told = sum(share > TOLD_OUTSIDE for share in row.shares.values())
        median = float(np.median([*row.shares.values()]))
        black_box, trees = (f"{cost:.1%}" for cost in row.costs)
        beside = f"`{row.partners[largest]}`" if row.partners[largest] else ""
        lines.append(
            f"| {row.name} | {row.row_count:,} | {len(row.shares)} | {told} | {median:.2f} "
            f"| {row.shares[largest]:.2f} | `{largest}` | {beside} "
            f"| {row.expected.get(largest, 0.0):.2f} | {trees} | {black_box} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--only", help="one table")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    for name in [arguments.only] if arguments.only else (*tables.NAMES, *_FILES):
        rows.append(study(name))
        print(written(rows[-1:]).splitlines()[-1], flush=True)
        errors = [abs(rows[-1].shares[c] - e) for c, e in rows[-1].expected.items()]
        print(f"  largest difference from brute force {max(errors):.3f}", flush=True)
    if arguments.write:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        PAGE.write_text(f"{before}{_BEGIN}\n\n{written(rows)}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
