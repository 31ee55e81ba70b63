"""Attributions beside shap, WOODELF and shapiq on six real tables, with brute force as the judge.

python -m bench.accuracy.attribution_peers [tables | cases]

Differences are divided by the standard deviation of the predictions. Models are trained on the
rows that are counted for path-dependent values, without bootstrap, so that libraries which count
rows see the same shares. XGBoost keeps sums of hessians, which are counts for squared errors alone.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import onnxplain

from bench.accuracy.attribution_peers import cases
from bench.accuracy.attribution_peers.compare import (
    INTERVENTIONAL,
    PATH_DEPENDENT,
    SAME,
    Comparison,
    problem,
)
from bench.accuracy.attribution_peers.models import MAKERS, tables


def summary(found: list[Comparison]) -> Iterator[str]:
    """Return the table of a page: models by verdict, and the largest difference from the judge."""
    groups: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for each in found:
        groups[each.what, each.library].append(each)
    yield "| Values | Library | Models | Right | Not comparable | Wrong | Largest difference |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (what, library), own in groups.items():
        answered = [each for each in own if not each.refusal]
        right = sum(each.from_judge <= SAME for each in answered)
        judged = [
            each
            for each in answered
            if each.from_judge <= SAME or not each.reason.startswith("other")
        ]
        other = len(answered) - len(judged)
        counts = f"{len(answered)} | {right} | {other} | {len(judged) - right}"
        off = [each.from_judge for each in judged if not np.isnan(each.from_judge)]
        largest = f"{max(off):.0e}" if off else "–"
        yield f"| {what} | {library} | {counts} | {largest} |"


def compared(client: onnxplain.Client) -> Iterator[Comparison]:
    """Compare the libraries on all models of all tables."""
    for table in tables():
        for kind in MAKERS:
            asked = problem(table, kind)
            for game in (INTERVENTIONAL, PATH_DEPENDENT):
                yield from asked.compare(client, game)


def main() -> None:
    """Compare, and print."""
    parts = sys.argv[1:] or ["tables", "cases"]
    with onnxplain.local() as client:
        if "tables" in parts:
            found = []
            for each in compared(client):
                found.append(each)
                print(each.line(), flush=True)
            print(*summary(found), sep="\n")
        if "cases" in parts:
            for line in cases.lines(client):
                print(line, flush=True)


if __name__ == "__main__":
    main()
