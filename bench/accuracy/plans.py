"""Plans beside what came: predicted rows, seconds, and the time of making the plan.

Run it in parts, each of which adds its rows to `plans.csv`, and write the page last; `--renew`
measures the rows of a method anew:

    python -m bench.accuracy.plans network boosting ...
    python -m bench.accuracy.plans --renew swarm
    python -m bench.accuracy.plans --searches
    python -m bench.accuracy.plans --page

`--searches` compares the bound of searches that are too long to be run for a plan with their rows.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnxplain
from onnxplain_server.explain.planning import rehearsal

from bench.shared.commands import ROOT
from bench.shared.ensembles import boosting, forest, rows, target, to_onnx
from bench.shared.neighbours import gaussian_process, nearest_neighbours
from bench.shared.network import network

TABLE = Path(__file__).with_name("plans.csv")
SEARCHES = Path(__file__).with_name("search_bounds.csv")
PAGE = ROOT / "docs" / "studies" / "plans.md"
_FIELDS = (
    *("model", "method", "width", "rows", "engine", "planned_rows", "rows_exact", "real_rows"),
    *("low", "high", "real_seconds", "plan_seconds"),
)

MODELS: Mapping[str, Callable[[int], bytes]] = {
    "linear": lambda width: network(widths=(width, 1)),
    "network": lambda width: network(widths=(width, 64, 64, 1)),
    "boosting": lambda width: to_onnx(boosting(100, 4, width)).SerializeToString(),
    "random forest": lambda width: to_onnx(forest(50, width, 2_000)).SerializeToString(),
    "nearest neighbours": nearest_neighbours,
    "Gaussian process": gaussian_process,
}
_SLOW = {"nearest neighbours", "Gaussian process"}
SIZES = ((6, 1_000), (12, 4_000))
"""Features, and rows of the table."""


def requests(model: str) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield name, options and more of each request for a model."""
    few = {"row_count": 150} if model in _SLOW else {}
    yield "interactions", onnxplain.Interactions(), few
    yield "partial_dependence", onnxplain.PartialDependence(), {}
    yield (
        "individual_conditional_expectation",
        onnxplain.IndividualConditionalExpectation(curve_count=50),
        {},
    )
    yield "permutation_importance", onnxplain.PermutationImportance(), few
    yield "average_loss", onnxplain.AverageLoss(), {}
    yield "firm", onnxplain.Firm(), {}
    yield "feature_vectors", onnxplain.FeatureVectors(source="SURROGATE"), {}
    settings: dict[str, Any] = {"particle_count": 10, "iteration_count": 5, "restart_count": 2}
    search = onnxplain.Swarm(loss="SQUARED_ERROR", search="PUBLISHED", **settings)
    yield "swarm", search, {"row_count": 40 if model in _SLOW else 200}


def problem(model: str, width: int, count: int) -> tuple[bytes, dict[str, Any]]:
    """Return a model, and a table with its target."""
    drawn = rows(count, width)
    table = {f"x{j}": drawn[:, j] for j in range(width)} | {"y": target(drawn)}
    return MODELS[model](width), table


def measure(model: str, width: int, count: int, only: str = "") -> Iterator[dict[str, Any]]:
    """Plan and compute each request with a client of its own, whose cache is empty."""
    content, table = problem(model, width, count)
    for name, options, more in requests(model):
        if only not in {"", name}:
            continue
        asked = {"target_column": "y", **more}
        with onnxplain.local() as client:
            client.explain(
                content, table, "average_loss", progress=False, seed=9, **{**asked, "row_count": 20}
            )  # loads the model
            start = time.perf_counter()
            plan = client.plan(content, table, options, **asked)
            planning = time.perf_counter() - start
            start = time.perf_counter()
            found = client.explain(content, table, options, progress=False, **asked)
            real = time.perf_counter() - start
        (method,) = plan.methods
        values = (
            *(model, name, width, count, method.engine, int(method.predicted_row_count)),
            *(method.is_exact, int(found.receipt.predicted_row_count)),
            *(*plan.seconds, real, planning),
        )
        yield dict(zip(_FIELDS, values, strict=True))


def main(models: list[str]) -> None:
    """Measure models, and add to the table; the first request of each kind is for warming up."""
    for model in models:
        for width, count in SIZES:
            for row in measure(model, width, count):
                is_new = not TABLE.exists()
                with TABLE.open("a", newline="") as file:
                    writer = csv.DictWriter(file, _FIELDS)
                    if is_new:
                        writer.writeheader()
                    writer.writerow(row)
                print(row, flush=True)


def renew(method: str) -> None:
    """Measure the rows of one method anew."""
    table = _read(TABLE)
    for row in table:
        if row["method"] == method:
            (renewed,) = measure(row["model"], int(row["width"]), int(row["rows"]), method)
            row.update(renewed)
            print(row, flush=True)
    _write(TABLE, table)


_SETTINGS: tuple[dict[str, Any], ...] = ({"iteration_count": 5, "restart_count": 2}, {})
"""Searches of the table above, and by default: 60 steps once."""


def searches() -> None:
    """Write the bounds of searches, as they are planned where they are not run, and their rows."""
    table = []
    for model, settings, width in product(MODELS, _SETTINGS, (6, 12)):
        content, columns = problem(model, width, 1_000)
        options = onnxplain.Swarm(loss="SQUARED_ERROR", search="PUBLISHED", **settings)
        asked: dict[str, Any] = {
            "target_column": "y", "row_count": 40 if model in _SLOW else 200, "engine": "BLACK_BOX",
        }  # fmt: skip
        with onnxplain.local() as client:
            with mock.patch.object(rehearsal, "_SEARCH_SECONDS", 0.0):
                (method,) = client.plan(content, columns, options, **asked).methods
            found = client.explain(content, columns, options, progress=False, **asked)
        steps = settings.get("iteration_count", 60)
        bound, real = int(method.predicted_row_count), int(found.receipt.predicted_row_count)
        row = (model, width, asked["row_count"], steps, settings.get("restart_count", 1))
        table.append(dict(zip(_SEARCH_FIELDS, (*row, bound, real), strict=True)))
        print(table[-1], flush=True)
    _write(SEARCHES, table)


_SEARCH_FIELDS = ("model", "width", "rows", "steps", "restarts", "bound", "real_rows")
_SEARCH_HEAD = (
    "| Model | Features | Rows | Steps | Restarts | Planned rows | Predicted rows | Ratio |"
)


def _search_line(row: Mapping[str, str]) -> str:
    numbers = [f"{int(row[name]):,}" for name in _SEARCH_FIELDS[1:]]
    ratio = int(row["bound"]) / int(row["real_rows"])
    return f"| {row['model']} | {' | '.join(numbers)} | {ratio:.2f} |"


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, table: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def counts(table: list[dict[str, str]]) -> Mapping[str, float]:
    """Return the shares of plans that hold what the page claims."""
    ratios = [_seconds_ratio(row) for row in table]
    return {
        "count": len(table),
        "exact": sum(row["planned_rows"] == row["real_rows"] for row in table),
        "bounded": sum(1 <= _rows_ratio(row) <= 1.2 for row in table),
        "below": sum(_rows_ratio(row) < 1 for row in table),
        "factor_two": sum(0.5 <= ratio <= 2 for ratio in ratios),
        "in_interval": sum(
            float(row["low"]) <= float(row["real_seconds"]) <= float(row["high"]) for row in table
        ),
        "quick": sum(
            float(row["plan_seconds"]) < max(0.3, 0.01 * float(row["real_seconds"]))
            for row in table
        ),
    }


def _rows_ratio(row: Mapping[str, str]) -> float:
    planned, real = int(row["planned_rows"]), int(row["real_rows"])
    return planned / real if real else float(planned == 0)


def _seconds_ratio(row: Mapping[str, str]) -> float:
    return math.sqrt(float(row["low"]) * float(row["high"])) / float(row["real_seconds"])


_FACTS = {
    "exact": "predicted rows as planned",
    "bounded": "planned rows at most 1.2 times the predicted ones, and not below them",
    "below": "planned rows below the predicted ones",
    "factor_two": "seconds within a factor of 2 of the middle of the interval",
    "in_interval": "seconds in the interval",
    "quick": "plans made in 0.3 s, or in 1 % of the computation",
}
_HEAD = (
    "| Model | Method | Features | Rows | Planned rows | Predicted rows | Planned seconds | "
    "Seconds | Time of the plan |"
)


def _line(row: Mapping[str, str]) -> str:
    return (
        f"| {row['model']} | {row['method']} | {row['width']} | {int(row['rows']):,} | "
        f"{int(row['planned_rows']):,} | {int(row['real_rows']):,} | "
        f"{float(row['low']):.2g} to {float(row['high']):.2g} | "
        f"{float(row['real_seconds']):.2g} | {float(row['plan_seconds']):.2g} |"
    )


def page() -> None:
    """Write the tables of the page, and the counts of the first."""
    table = _read(TABLE)
    facts = counts(table)
    lines = [_HEAD, "|---|---|---:|---:|---:|---:|---:|---:|---:|", *map(_line, table)]
    summary = [f"- {text}: {facts[name]} of {facts['count']}" for name, text in _FACTS.items()]
    ratios = np.quantile([_seconds_ratio(row) for row in table], [0.05, 0.5, 0.95])
    summary.append(
        "- middle of the interval of seconds, in times of the real ones, at the 5 %, 50 % and 95 % "
        f"quantiles: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    )
    _put("plans", [*summary, "", *lines])
    _put(
        "searches", [_SEARCH_HEAD, "|---" + "|---:" * 7 + "|", *map(_search_line, _read(SEARCHES))]
    )


def _put(name: str, lines: list[str]) -> None:
    """Replace the part of the page after the mark of this name."""
    before, rest = PAGE.read_text().split(f"<!-- {name} -->")
    after = rest.split("<!-- end -->", 1)[1]
    body = "\n".join(lines)
    PAGE.write_text(f"{before}<!-- {name} -->\n\n{body}\n\n<!-- end -->{after}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--page"]:
            page()
        case ["--searches"]:
            searches()
        case ["--renew", method]:
            renew(method)
        case models:
            main(models)
