"""Measure how often intervals of partial answers contain the values of the answer.

Usage: python -m bench.accuracy.partial_coverage [--write]

Each function is explained on many tables; statistics of a sixteenth and a quarter of the rows are
compared with those of the answer. `--write` puts the table into docs/studies/intervals.md.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

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
from onnxplain_server.methods import interactions, partial_dependence, permutation_importance
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import Options, Result
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
_SHUFFLED, _SHUFFLED_ONCE = "permutation importance", "permutation importance, one shuffle"
_OF_WEIGHTS = "permutation importance, weighted rows"
_CURVES, _CURVES_OF_WEIGHTS = "partial dependence", "partial dependence, weighted rows"
_LABELS = (*_KINDS, _SHUFFLED, _SHUFFLED_ONCE, _OF_WEIGHTS, _CURVES, _CURVES_OF_WEIGHTS)
_LOSS = Comparison(Loss.SQUARED_ERROR)
_METHODS: Mapping[str, tuple[Options, str]] = {
    "": (interactions.Options(), ""),
    _SHUFFLED: (permutation_importance.Options(comparison=_LOSS), ""),
    _SHUFFLED_ONCE: (permutation_importance.Options(comparison=_LOSS, repeat_count=1), ""),
    _OF_WEIGHTS: (permutation_importance.Options(comparison=_LOSS), "weight"),
    _CURVES: (partial_dependence.Options(grid_size=5), ""),
    _CURVES_OF_WEIGHTS: (partial_dependence.Options(grid_size=5), "weight"),
}
"""Options, and column of weights; interactions have a kind for each statistic."""


def hits(problem: tuple[str, int]) -> dict[tuple[str, int], list[bool]]:
    """Return, by kind of statistic and rows, whether each interval has the final value."""
    name, seed = problem
    rows = drawn(_ROWS, seed)
    model = FunctionModel({**FUNCTIONS, **HELD_OUT}[name])
    random = np.random.default_rng(seed)
    columns = {n: rows[:, j] for j, n in enumerate(FEATURES)}
    columns["target"] = model.function(*rows.T) + random.normal(size=_ROWS)
    columns["weight"] = random.exponential(size=_ROWS)
    found: dict[tuple[str, int], list[bool]] = defaultdict(list)
    for label, (options, weights) in _METHODS.items():
        question = Question(
            (options,),
            row_count=_ROWS,
            seed=seed,
            plots=False,
            feature_columns=FEATURES,
            target_column="target",
            weight_column=weights,
        )
        for part, answer in _parts(model, Table(columns, _ROWS), question):
            assert part.rows is not None  # noqa: S101 - all of these methods use rows
            for kind, is_inside in _inside(label, part.result, answer.result):
                found[kind, part.rows.drawn].append(is_inside)
    return dict(found)


def _parts(
    model: FunctionModel, table: Table, question: Question
) -> list[tuple[Explanation, Explanation]]:
    """Return what is told before the answer, each with the answer."""
    parts: list[PartialExplanation] = []
    means = Resources(
        NullHost(), BatchSize(), POOL, lambda: Refusal("a function"), publish=parts.append
    )
    (answer,) = explain(model, BoundTable(table, question, model), question, means).explanations
    return [(part.explanation, answer) for part in parts if not part.is_final]


def _inside(label: str, part: Result, final: Result) -> Iterator[tuple[str, bool]]:
    """Yield, of each number, its kind and whether its interval has the final value."""
    if isinstance(part, interactions.Result) and isinstance(final, interactions.Result):
        for kind, attribute in _KINDS.items():
            values = _by_features(final, attribute)
            for features, statistic in _by_features(part, attribute).items():
                value, spread = values[features].values[0], statistic.spread
                if value > _LEAST and spread is not None:
                    yield kind, bool(spread.lower[0] <= value <= spread.upper[0])
        return
    for entry, whole in zip(_averages(part), _averages(final), strict=True):
        is_inside = (entry.lower <= whole.values) & (whole.values <= entry.upper)
        for value in np.ravel(is_inside):
            yield label, bool(value)


def _by_features(result: interactions.Result, attribute: str) -> Mapping[tuple[str, ...], Any]:
    found = getattr(result, attribute)
    return {s.features: s for s in (found if isinstance(found, tuple) else (found,))}


def _averages(result: Any) -> tuple[Any, ...]:
    is_curves = isinstance(result, partial_dependence.Result)
    averages: tuple[Any, ...] = result.curves if is_curves else result.importances
    return averages


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
    for label in _LABELS:
        cells = (_percent(total.get((label, n), [])) for n in counts)
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _percent(inside: list[bool]) -> str:
    return f"{100 * np.mean(inside):.0f} %" if inside else "—"


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
