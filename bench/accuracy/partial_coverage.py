"""Measure how often intervals of partial answers contain the values of the answer.

Usage: python -m bench.accuracy.partial_coverage [--write]

Each function is explained on many tables; the interactions of a sixteenth and a quarter of the
rows are compared with those of the answer. `--write` puts the table into docs/studies/intervals.md.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from onnxplain_server.core.table import Table
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import (
    BoundTable,
    Explanation,
    PartialExplanation,
    Question,
    Resources,
    explain,
)
from onnxplain_server.methods import interactions
from onnxplain_server.trees.reading.refusal import Refusal

from bench.accuracy.coverage_problems import (
    FEATURES,
    FUNCTIONS,
    HELD_OUT,
    POOL,
    FunctionModel,
    drawn,
)
from bench.shared.null_host import NullHost

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "intervals.md"
_BEGIN, _END = "<!-- partial -->\n", "<!-- end of partial -->"
_ROWS, _TABLES = 1_600, 40
_LEAST = 1e-4
"""Values below which a statistic counts as 0, and has no interval."""
_KINDS = {"H²": "total", "H²_j": "overall", "H²_jk": "pairwise"}


def _values(explanation: Explanation, kind: str) -> Mapping[tuple[str, ...], object]:
    result = explanation.result
    if not isinstance(result, interactions.Result):
        raise TypeError(type(result))
    found = getattr(result, kind)
    return {s.features: s for s in (found if isinstance(found, tuple) else (found,))}


def hits(problem: tuple[str, int]) -> dict[tuple[str, int], list[bool]]:
    """Return, by kind of statistic and rows, whether each interval has the final value."""
    name, seed = problem
    rows = drawn(_ROWS, seed)
    model = FunctionModel({**FUNCTIONS, **HELD_OUT}[name])
    table = Table({n: rows[:, j] for j, n in enumerate(FEATURES)}, _ROWS)
    question = Question((interactions.Options(),), row_count=_ROWS, seed=seed, plots=False)
    parts: list[PartialExplanation] = []
    means = Resources(
        NullHost(), BatchSize(), POOL, lambda: Refusal("a function"), publish=parts.append
    )
    answer = explain(model, BoundTable(table, question, model), question, means)
    found: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for part, (label, kind) in product(parts, _KINDS.items()):
        if part.is_final or part.explanation.rows is None:
            continue
        final = _values(answer.explanations[0], kind)
        for features, statistic in _values(part.explanation, kind).items():
            value, spread = final[features].values[0], statistic.spread  # type: ignore[attr-defined]
            if value > _LEAST and spread is not None:
                inside = spread.lower[0] <= value <= spread.upper[0]
                found[label, part.explanation.rows.drawn].append(bool(inside))
    return dict(found)


def table() -> str:
    """Measure, and return the table."""
    problems = list(product({**FUNCTIONS, **HELD_OUT}, range(_TABLES)))
    total: dict[tuple[str, int], list[bool]] = defaultdict(list)
    with ProcessPoolExecutor(2) as processes:
        for found in processes.map(hits, problems):
            for key, values in found.items():
                total[key] += values
    counts = sorted({rows for _, rows in total})
    lines = [
        "| 90 % intervals of | " + " | ".join(f"{n} of {_ROWS:,} rows" for n in counts) + " |",
        "| --- |" + " ---: |" * len(counts),
    ]
    for label in _KINDS:
        cells = (f"{100 * np.mean(total[label, n]):.0f} %" for n in counts)
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, or write it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    text = table()
    print(text)
    if arguments.parse_args().write:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        PAGE.write_text(f"{before}{_BEGIN}\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
