"""Pairs and triples of features with few values, where memoized rows are not predicted again."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.rows import bind
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import Background, combine, merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor

from bench.shared.network import WIDTHS, network
from bench.shared.null_host import NullHost

ROWS, RUNS = 500, 5
LEVEL_COUNTS = (2, 3, 5, 10)
LARGE = (512, 512)
FEATURES = range(5)
"""Those with few values; the others are normal."""
GROUPS: list[list[tuple[int, ...]]] = [
    list(combinations(FEATURES, 2)),
    list(combinations(FEATURES, 3)),
]


def table(level_count: int) -> Table:
    rng = np.random.default_rng(1)
    columns = {f"x{j}": rng.normal(size=ROWS) for j in range(WIDTHS[0])}
    for j in FEATURES:
        columns[f"x{j}"] = rng.integers(0, level_count, ROWS).astype(float)
    return Table(columns, ROWS)


class Side:
    """One way to compute the groups, timed and counted."""

    def __init__(self, predictor: Predictor, background: Background) -> None:
        self.predictor, self.background = predictor, background

    def known(self) -> tuple[float, int]:
        """As the engine does: after single features and pairs, which are not timed."""
        effects = BlackBox(self.predictor, self.background, "RESPONSE")
        list(effects.single(FEATURES))
        before, start = self.predictor.ledger.predicted, time.perf_counter()
        for groups in GROUPS:
            list(effects.joint(groups))
        return time.perf_counter() - start, self.predictor.ledger.predicted - before

    def plain(self) -> tuple[float, int]:
        """Every row at every combination of values."""
        effects = BlackBox(self.predictor, self.background, "RESPONSE")
        effects.outputs()
        before, start = self.predictor.ledger.predicted, time.perf_counter()
        for groups in GROUPS:
            for group in groups:
                first, _ = combine([self.background.codes[j] for j in group])
                effects.curve(group, [self.background.columns[j][first] for j in group])
        return time.perf_counter() - start, self.predictor.ledger.predicted - before


def measure(title: str, content: bytes) -> None:
    model, batch_size = load(content), BatchSize()
    with ThreadPoolExecutor(2) as threads:
        for level_count in LEVEL_COUNTS:
            predictor = Predictor(model, np.arange(1), Ledger(NullHost()), batch_size, threads)
            features = bind(model.inputs, table(level_count), (), ())
            side = Side(predictor, merge(features, np.ones(ROWS), np.arange(ROWS)))
            runs = [(side.plain(), side.known()) for _ in range(RUNS + 1)][1:]
            faster = statistics.median(plain[0] / known[0] for plain, known in runs)
            fewer = runs[0][0][1] / runs[0][1][1]
            print(
                f"  {title}, {level_count} values: {fewer:.2f} times fewer rows, "
                f"{faster:.2f} times as fast as predicting every row at every combination"
            )


def main() -> None:
    measure("small network", network())
    measure("large network", network(widths=(WIDTHS[0], *LARGE, 1)))


if __name__ == "__main__":
    main()
