"""Pairs on the probabilities of boosted classifiers: 5,000 rows beside 500.

The counterpart, on 500 rows, lets each row descend the trees once per point, as the engine does
for triples. It is the way without what pairs share: the rectangles of their leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import TypeAlias

import numpy as np
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.linked import JointRows, Linked
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.links import LinkedEnsemble, LinkFunction
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from bench.shared import ensembles, tables
from bench.shared.engines import THREADS, background
from bench.shared.null_host import NullHost
from bench.speed_table.row import RUNS, Row, Unit, lines, seconds

FEW, MANY, WARMING = 500, 5_000, 10
"""Rows."""
PAIRED = 5
"""Features of which all pairs are computed, the most important ones: ten pairs."""

Case: TypeAlias = tuple[ensembles.Fitted, ensembles.Rows]


def adult() -> Case:
    """Boosting of binned values on the table Adult; text as numbers."""
    table = tables.load("Adult")
    columns = [
        np.unique(column.astype(str), return_inverse=True)[1] if column.dtype == object else column
        for column in table.columns
    ]
    rows = np.stack(columns, axis=1).astype(np.float32)
    fitted = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0)
    return fitted.fit(rows, table.target == table.target[-1]), rows


def binned() -> Case:
    """Boosting of binned values on continuous columns."""
    rows = ensembles.rows(20_000, 10)
    fitted = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0)
    return fitted.fit(rows, ensembles.target(rows) > 0), rows


def all_thresholds() -> Case:
    """Boosting on continuous columns, where any value may be a threshold."""
    rows = ensembles.rows(20_000, 10)
    fitted = GradientBoostingClassifier(max_depth=5, subsample=0.2, random_state=0)
    return fitted.fit(rows, ensembles.target(rows) > 0), rows


CASES: tuple[tuple[str, Callable[[], Case]], ...] = (
    ("Adult, 100 trees of 31 leaves", adult),
    ("10 continuous columns of 255 bins, 100 trees of 31 leaves", binned),
    ("10 continuous columns, 100 trees of depth 5", all_thresholds),
)


class Pairs:
    """Pairs of the most important features of a classifier, on the first rows of a table."""

    def __init__(self, case: Case, threads: ThreadPoolExecutor) -> None:
        fitted, rows = case
        ensemble = read_ensemble(ensembles.to_onnx(fitted))
        if not isinstance(ensemble, Ensemble):
            raise TypeError(ensemble.reason)
        self._linked = LinkedEnsemble(ensemble, LinkFunction.LOGISTIC)
        self._rows = np.random.default_rng(0).permutation(rows)
        self._threads = threads
        singles = self._on(FEW).single(range(rows.shape[1]))
        spreads = {single.feature: float(single.own.std()) for single in singles}
        chosen = sorted(sorted(spreads, key=lambda j: -spreads[j])[:PAIRED])
        self._groups: list[tuple[int, ...]] = list(combinations(chosen, 2))

    def _on(self, count: int) -> Linked:
        ledger, limits = Ledger(NullHost()), JointRows(count, count)
        rows: Background = background(self._rows[:count])
        return Linked(self._linked, rows, ("p",), np.array([0]), ledger, self._threads, limits)

    def together(self, count: int) -> float:
        """Seconds of the engine."""
        engine = self._on(count)
        list(engine.single(sorted({j for group in self._groups for j in group})))
        return seconds(lambda: list(engine.joint(self._groups)))

    def one_by_one(self, count: int) -> float:
        """Seconds of the descents of each row, once per point."""
        engine = self._on(count)
        codes = engine._bound.ranked.codes  # noqa: SLF001 - a part of the engine is measured
        engine._bound.sums  # noqa: B018, SLF001 - not timed

        def descend() -> None:
            for group in self._groups:
                points = np.unique(codes[list(group)], axis=1)
                engine._average_in_parts(group, points)  # noqa: SLF001

        return seconds(descend)


def rows() -> Iterator[Row]:
    """Measure each case."""
    with ThreadPoolExecutor(THREADS) as threads:
        for name, make in CASES:
            pairs = Pairs(make(), threads)
            pairs.together(FEW)
            pairs.one_by_one(WARMING)
            others = [pairs.one_by_one(FEW)]
            for count in (FEW, MANY):
                yield Row(
                    f"ten pairs on probabilities, {count:,} rows, {name}",
                    Unit.SECONDS,
                    [pairs.together(count) for _ in range(RUNS)],
                    f"{FEW} rows, each of which descends the trees once per point",
                    others,
                )


def main() -> None:
    for line in lines(rows()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
