"""Differences between two answers: coverage of their intervals, false alarms, and power.

    python -m bench.accuracy.change_coverage [--write] [--draws 300]

Draws tables of three independent normal columns, and compares the models

    f = a + k (s a b + a² - 1) + c

with k and the sign s of each side: on one table (paired), and on two. All truths are known in
closed form; s changes the model, and no statistic.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.methods import average_loss, interactions, permutation_importance
from onnxplain_server.methods import partial_dependence as pd
from onnxplain_server.methods.average_loss import Compared
from onnxplain_server.methods.changes.comparison import ChangeOptions, compare
from onnxplain_server.methods.changes.found import Changes
from onnxplain_server.methods.changes.matching import KeptStatistics
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.groups import Group
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.resampling import ReplicatedStatistic, Resampling, RowUnits
from onnxplain_server.methods.sampled import curve_bands
from onnxplain_server.methods.sampled.permutation_importance import influences_of
from onnxplain_server.methods.sampled.replicated_curves import ResampledRows

from bench.accuracy.coverage_problems import FEATURES, Function, drawn, effects
from tools import figures

PAGE = Path(__file__).parents[2] / "docs/studies/changes.md"
LEVEL, REPEATS, DRAWS = 0.9, 200, 300
ROW_COUNTS = (200,)
CLARIFY = 0.9
"""NDCG below which SageMaker Clarify's monitor alerts."""
_BEGIN, _END = "<!-- changes -->", "<!-- end of changes -->"
_GRID = np.linspace(-1.5, 1.5, 15)
_KEPT = Resampling(REPEATS, confidence_level=LEVEL, is_kept=True)
_SECOND = 1_000_003
"""Seeds of second tables begin here."""


@dataclass(frozen=True)
class Case:
    """Two models, by k, and whether they are on one table, where signs differ."""

    reference: float
    answer: float
    is_paired: bool

    @property
    def signs(self) -> tuple[int, int]:
        """Signs of the interaction: another model, whose statistics are the same."""
        return 1, -1 if self.is_paired else 1

    @property
    def is_null(self) -> bool:
        """Whether no statistic differs."""
        return self.reference == self.answer


CASES = {
    "no change, one table": Case(0.4, 0.4, is_paired=True),
    "no change, two tables": Case(0.4, 0.4, is_paired=False),
    "no interaction on both sides, two tables": Case(0.0, 0.0, is_paired=False),
    "k from 0.4 to 0.5, one table": Case(0.4, 0.5, is_paired=True),
    "k from 0.4 to 0.5, two tables": Case(0.4, 0.5, is_paired=False),
    "k from 0.4 to 0.8, two tables": Case(0.4, 0.8, is_paired=False),
    "k from 0 to 0.4, one table": Case(0.0, 0.4, is_paired=True),
}
KINDS = {
    "TOTAL_INTERACTION": "H², total",
    "OVERALL_INTERACTION": "H², overall",
    "PAIRWISE_INTERACTION": "H², pairs",
    "OVERALL_INTERACTION_SQUARE": "mean squares, overall",
    "PAIRWISE_INTERACTION_SQUARE": "mean squares, pairs",
    "IMPORTANCE": "importance, shares",
    "IMPORTANCE_SQUARE": "importance, mean squares",
    "AVERAGE_LOSS": "average loss",
    "PERMUTATION_IMPORTANCE": "permutation importance",
    "PARTIAL_DEPENDENCE": "curves, whole",
}


def function_of(k: float, sign: int) -> Function:
    return lambda a, b, c: a + k * (sign * a * b + a**2 - 1) + c


def truth(kind: str, features: tuple[str, ...], k: float) -> float:
    """The statistic of the population, by the moments of normal columns."""
    name = "".join(features)
    squares = {"a": 1 + 3 * k**2, "b": k**2, "c": 1.0}
    interaction = k**2 * (name in {"", "a", "b", "ab"})
    whole = 2 + 3 * k**2
    of_pair = {"ab": squares["a"], "ac": 2 + 2 * k**2, "bc": 1.0}
    match kind:
        case "AVERAGE_LOSS":
            return 1 + 3 * k**2
        case "PERMUTATION_IMPORTANCE":
            return 0.0 if name == "b" else 2.0
        case "IMPORTANCE" | "IMPORTANCE_SQUARE":
            value = squares[name]
        case _:
            value = interaction
    if kind.endswith("_SQUARE"):
        return value
    return value / (of_pair[name] if kind.startswith("PAIR") else whole)


def true_curve(feature: str, k: float) -> Vector:
    curves = {"a": _GRID + k * (_GRID**2 - 1), "b": 0 * _GRID, "c": _GRID}
    return curves[feature]


def kept(rows: Matrix, noise: Vector, function: Function, seed: int) -> KeptStatistics:
    """Explain a model on a table, and keep the replicates."""
    engine, units = effects(function, rows), RowUnits(np.arange(len(rows)))
    pairs = interactions.resolve(
        interactions.Options(pairwise_feature_count=3, resampling=_KEPT), FEATURES, ""
    )
    found = list(interactions.compute(engine, pairs, seed, units=units).replicates)
    found += _curves(engine, units, seed)
    options = average_loss.Options(Comparison(Loss.SQUARED_ERROR), resampling=_KEPT)
    actual = (rows[:, 0] + rows[:, 2] + noise)[:, None]
    compared = Compared(actual, [Group("", np.arange(len(rows)))], None, units)
    plain = average_loss.compute(engine, options, actual, compared.groups)
    found += average_loss.with_intervals(plain, engine, options, compared, seed).replicates
    shuffled = permutation_importance.Options(
        tuple((name,) for name in FEATURES), Comparison(Loss.SQUARED_ERROR)
    )
    own = influences_of(engine, shuffled, actual, seed, None)
    found += own.with_replicates(own.result, units, seed, REPEATS).replicates
    return KeptStatistics(("y",), tuple(found))


def _curves(engine: BlackBox, units: RowUnits, seed: int) -> tuple[ReplicatedStatistic, ...]:
    names = tuple((name,) for name in FEATURES)
    options = pd.Options(names, tuple({n: _GRID} for n in FEATURES), resampling=_KEPT)
    whole = [ResampledRows("", engine.background, units)]
    points = [(_GRID,)] * len(FEATURES)
    return curve_bands.compute(engine, options, points, whole, seed, None).replicates


class Draw(NamedTuple):
    """One comparison: by kind, whether intervals held the truth and whether changes were shown."""

    held: Mapping[str, list[bool]]
    shown: Mapping[str, list[bool]]
    is_alarm: bool
    is_clarify_alarm: bool


def draw(case: Case, row_count: int, seed: int) -> Draw:
    tables = [seed, seed if case.is_paired else seed + _SECOND]
    sides = []
    ks = case.reference, case.answer
    for own, k, sign in zip(tables, ks, case.signs, strict=True):
        noise = np.random.default_rng([row_count, own, 7]).normal(size=row_count)
        sides.append(kept(drawn(row_count, own), noise, function_of(k, sign), seed))
    options = ChangeOptions(confidence_level=LEVEL)
    found = compare([(0, sides[0], sides[1])], options, is_paired=case.is_paired, are_classes=False)
    tests = [*(d.test for d in found.differences), *(c.test for c in found.curves)]
    ndcg = min(each.ranking.ndcg.value for each in found.rankings)
    is_alarm = any(test.verdict == "CHANGED" for test in tests)
    return Draw(*_judged(found, case), is_alarm, ndcg < CLARIFY)


def _judged(
    found: Changes, case: Case
) -> tuple[Mapping[str, list[bool]], Mapping[str, list[bool]]]:
    held, shown = defaultdict(list), defaultdict(list)
    for each in found.differences:
        own = each.subject
        sides = [truth(own.kind, own.features, k) for k in (case.reference, case.answer)]
        expected = sides[1] - sides[0]
        if each.standard_error > 0:
            held[own.kind].append(each.lower <= expected <= each.upper)
        if expected:
            shown[own.kind].append(each.test.verdict == "CHANGED")
    for curve in found.curves:
        own = curve.subject
        curves = [true_curve(own.features[0], k) for k in (case.reference, case.answer)]
        expected_curve = curves[1] - curves[0]
        if curve.standard_errors.any():
            inside = (curve.simultaneous_lower <= expected_curve + 1e-9) & (
                expected_curve - 1e-9 <= curve.simultaneous_upper
            )
            held[own.kind].append(bool(inside.all()))
        if expected_curve.any():
            shown[own.kind].append(curve.test.verdict == "CHANGED")
    return held, shown


def table(draws: int) -> Iterator[str]:
    cases = [(name, case, n) for name, case in CASES.items() for n in ROW_COUNTS]
    found = {(name, n): [draw(case, n, seed) for seed in range(draws)] for name, case, n in cases}
    yield "| 90 % intervals that hold the true difference | " + " | ".join(KINDS.values()) + " |"
    yield "| --- |" + " ---: |" * len(KINDS)
    for name, _, n in cases:
        cells = [_share(found[name, n], "held", kind) for kind in KINDS]
        yield f"| {name}, {n} rows | {' | '.join(cells)} |"
    yield ""
    nulls = [(name, n) for name, case, n in cases if case.is_null]
    alarms = "any CHANGED, after Holm's correction at 10 % | Clarify's alert"
    yield f"| No change: share of the comparisons with | {alarms} |"
    yield "| --- | ---: | ---: |"
    for name, n in nulls:
        yield f"| {name}, {n} rows | {_alarms(found[name, n])} |"
    yield ""
    changes = [(name, n) for name, case, n in cases if not case.is_null]
    yield "| A change: share that is shown | " + " | ".join(KINDS.values()) + " | Clarify's alert |"
    yield "| --- |" + " ---: |" * (len(KINDS) + 1)
    for name, n in changes:
        cells = [_share(found[name, n], "shown", kind) for kind in KINDS]
        clarify = np.mean([each.is_clarify_alarm for each in found[name, n]])
        yield f"| {name}, {n} rows | {' | '.join(cells)} | {100 * clarify:.0f} % |"


def _share(draws: list[Draw], what: str, kind: str) -> str:
    counted = [flag for each in draws for flag in getattr(each, what).get(kind, ())]
    return f"{100 * np.mean(counted):.0f} %" if counted else "—"


def _alarms(draws: list[Draw]) -> str:
    alarms = np.mean([[each.is_alarm, each.is_clarify_alarm] for each in draws], axis=0)
    return " | ".join(f"{100 * share:.1f} %" for share in alarms.tolist())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--draws", type=int, default=DRAWS)
    given = arguments.parse_args()
    text = "\n".join(table(given.draws))
    print(text)
    if given.write:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        stamp = figures.stamp(("effects", "methods"))
        PAGE.write_text(f"{before}{_BEGIN}\n\n{stamp}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
