"""Curves that leave the data, on 14 tables: how many; their shares beside brute force; the cost.

Shares are those of the server's measure, of each feature at the rows' own values. Brute force moves
50,000 rows, each to the value of another one, and counts cells of tenths on all rows of the table.
`--write` writes docs/methods/partial-dependence.md. `--cost TABLE` measures the processor time
beside that of a whole request, by boosted trees.
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
from onnxplain_server.core.row_draws import draw
from onnxplain_server.effects.support.pair_support import PairSupport
from onnxplain_server.effects.support.table_support import support_row_count
from onnxplain_server.explain.methods.support.curve_support import SupportOfCurves
from onnxplain_server.plots.claims.support import TOLD_OUTSIDE
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from bench.shared import tables
from tools.figures import stamp

PAGE = Path("docs/methods/partial-dependence.md")
_BEGIN, _END = "<!-- support -->", "<!-- end of support -->"
_ROOMS = ("effects/support",)
_ROOT = Path(__file__).parents[2]
_FILES = {
    "Miami housing": _ROOT / "examples/miami/miami_housing.csv.gz",
    "Indian liver": _ROOT / "tests/models/data/indian_liver_patient.csv",
}
_LEFT_OUT = {"PARCELNO"}
_MOVES = 50_000
_MOST_CURVES = 60
_MOST_PREDICTED = 10
"""Curves of a request whose cost is measured."""


class Row(NamedTuple):
    """Findings on one table: shares by feature, partners, and shares by brute force."""

    name: str
    row_count: int
    shares: dict[str, float]
    partners: dict[str, str]
    expected: dict[str, float]


def read(name: str) -> tuple[dict[str, Array], Array]:
    """Return the features, numbers or texts, and the target."""
    if name not in _FILES:
        table = tables.load(name)
        return dict(zip(table.names, table.columns, strict=True)), table.target
    frame = arrow_csv.read_csv(_FILES[name]).to_pandas()
    frame = frame.drop(columns=_LEFT_OUT & {*frame.columns})
    target = frame.pop(frame.columns[-1]).to_numpy()
    columns = {str(name): column.to_numpy() for name, column in frame.items()}
    return {n: c if c.dtype == object else c.astype(float) for n, c in columns.items()}, target


def study(name: str) -> Row:
    columns, _ = read(name)
    names, count = [*columns], len(next(iter(columns.values())))
    rows = draw(np.arange(count), support_row_count(len(names)), 0)
    own = [column[rows] for column in columns.values()]
    support = PairSupport(own, np.ones(len(rows)))
    shares, partners = {}, {}
    for j, column in enumerate(own[:_MOST_CURVES]):
        found = support.outside([j], [column], support.own_rows)
        shares[names[j]] = float(found.shares.mean())
        beside = found.by_partner.mean(axis=1)
        partners[names[j]] = f"`{names[int(beside.argmax())]}`" if beside.any() else ""
    tenths = {name: tenths_of(column) for name, column in columns.items()}
    return Row(name, count, shares, partners, {n: brute_force(tenths, n) for n in shares})


def tenths_of(column: Array) -> Indices:
    """Number the tenths of a column, or its texts; missing numbers come last."""
    if column.dtype == object:
        return pd.factorize(column)[0]
    known = np.sort(column[~np.isnan(column)])
    size = min(10, int((len(column) / 10) ** 0.5))
    ends = known[-(-np.arange(1, size) * len(known) // size) - 1]
    return np.where(np.isnan(column), size, (column[:, None] > ends).sum(axis=1))


def brute_force(tenths: dict[str, Indices], feature: str) -> float:
    """Return the share of moved rows with a pair that lacks."""
    count = len(tenths[feature])
    moved, sources = np.random.default_rng(0).integers(count, size=(2, _MOVES))
    outside = np.zeros(_MOVES, bool)
    for other in (c for c in tenths if c != feature):
        held = np.zeros((tenths[feature].max() + 1, tenths[other].max() + 1))
        np.add.at(held, (tenths[feature], tenths[other]), 1)
        even = held.sum(axis=1, keepdims=True) * held.sum(axis=0) / count
        lacks = (held < 0.1 * even) & (even >= 10)
        outside |= lacks[tenths[feature][sources], tenths[other][moved]]
    return float(outside.mean())


def written(rows: list[Row]) -> str:
    heads = ["Table", "Rows", "Curves", "Told", "Median share", "Largest", "along", "with"]
    lines = [f"| {' | '.join([*heads, 'Brute force'])} |", "|---|--:|--:|--:|--:|--:|---|---|--:|"]
    for row in rows:
        largest = max(row.shares, key=lambda c: row.shares[c])
        told = sum(share > TOLD_OUTSIDE for share in row.shares.values())
        median = float(np.median([*row.shares.values()]))
        lines.append(
            f"| {row.name} | {row.row_count:,} | {len(row.shares)} | {told} | {median:.2f} "
            f"| {row.shares[largest]:.2f} | `{largest}` | {row.partners[largest]} "
            f"| {row.expected[largest]:.2f} |"
        )
    return "\n".join(lines)


def timed(seconds: list[float], function: Callable[..., Any]) -> Any:
    """Add the processor time of a function to a list."""

    def measured(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = function(*args, **kwargs)
        seconds.append(time.process_time() - start)
        return result

    return measured


def cost(name: str) -> None:
    columns, target = read(name)
    codes = {n: pd.factorize(c)[0] if c.dtype == object else c for n, c in columns.items()}
    frame = pd.DataFrame(codes).astype(np.float32)
    is_classes = target.dtype.kind in "OU"
    kind = HistGradientBoostingClassifier if is_classes else HistGradientBoostingRegressor
    exported = onnxplain.export(kind(max_iter=100).fit(frame, target), frame)
    seconds: list[float] = []
    for method in ("told", "sources_of"):
        setattr(SupportOfCurves, method, timed(seconds, getattr(SupportOfCurves, method)))
    client, engines = onnxplain.local(), ("TREES", "BLACK_BOX")
    for engine in engines:
        for grid_size in (48, 49):  # neither finds the other's effects in the cache
            seconds.clear()  # first uses compile and import
            start = time.process_time()
            asked: Literal["TREES", "BLACK_BOX"] = "TREES" if engine == "TREES" else "BLACK_BOX"
            features = [*frame.columns[:_MOST_PREDICTED]]
            curves = onnxplain.PartialDependence(features=features, grid_size=grid_size)
            client.explain(exported, frame, curves, engine=asked)
            whole = time.process_time() - start
        own = sum(seconds)
        print(
            f"{name}, {engine}: {own:.3f} s beside {whole - own:.3f} s, {own / (whole - own):.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--cost", metavar="TABLE", help="measure the cost")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.cost:
        cost(arguments.cost)
        return
    rows = []
    for name in (*tables.NAMES, *_FILES):
        rows.append(study(name))
        errors = [abs(rows[-1].shares[c] - e) for c, e in rows[-1].expected.items()]
        difference = f"largest difference from brute force {max(errors):.3f}"
        print(written(rows[-1:]).splitlines()[-1], difference, flush=True)
    if arguments.write:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        PAGE.write_text(f"{before}{_BEGIN}\n\n{stamp(_ROOMS)}\n\n{written(rows)}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
