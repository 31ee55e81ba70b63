"""The trees engine: how long it takes, and how that grows with the rows and with the trees.

Predicting is timed on some rows and extrapolated: no one would wait for it. It counts what
hstats asks for: for each feature both of its partial dependences, for each pair one, each at n
points on n rows.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import engines
import ensembles
import numpy as np
import onnxruntime as ort
from onnx import ModelProto
from onnxplain_server.effects.background import Background

RUNS = 3
PAIRED = 5
"""Features of which all pairs are computed: ten pairs."""

COUNTS = (1_000, 10_000, 100_000)
CASES: tuple[tuple[str, Callable[[], ensembles.Fitted], int, tuple[int, ...]], ...] = (
    ("boosted, 300 × depth 5", lambda: ensembles.boosting(300, 5, 10), 10, COUNTS),
    ("forest, 500 grown full", lambda: ensembles.forest(500, 10, 5_000), 10, (500, 5_000)),
    ("1,000 × 31 leaves", lambda: ensembles.many_small(1_000, 31, 50), 50, (100_000,)),
)


def explain(engine: engines.Trees, rows: Background) -> list[float]:
    """Compute predictions, all single features and ten pairs; seconds for each of the three."""
    effects = engine.on(rows)
    times = [time.perf_counter()]
    effects.outputs()
    times.append(time.perf_counter())
    for _ in effects.single(range(len(rows.columns))):
        pass
    times.append(time.perf_counter())
    for _ in effects.joint(list(combinations(range(PAIRED), 2))):
        pass
    seconds: list[float] = np.diff([*times, time.perf_counter()]).tolist()
    return seconds


def predicting(model: ModelProto, rows: ensembles.Rows) -> float:
    """Seconds that the same would take by predicting, from the time of some rows."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    some = rows[:20_000]
    session.run(None, {"rows": some[:100]})
    taken = engines.seconds(lambda: session.run(None, {"rows": some})) / len(some)
    functions = 2 * rows.shape[1] + PAIRED * (PAIRED - 1) // 2
    return float(functions * len(rows) ** 2 * taken)


def main() -> None:
    print(f"{'model':<26}{'rows':>8}{'sums':>8}{'single':>8}{'pairs':>8}{'all':>8}  predicting")
    with ThreadPoolExecutor(engines.THREADS) as threads:
        for title, make, width, counts in CASES:
            model = ensembles.to_onnx(make())
            engine = engines.trees(model, threads)
            explain(engine, engines.background(ensembles.rows(64, width, 1)))  # compiles
            for count in counts:
                rows = ensembles.rows(count, width, 1)
                bound = engines.background(rows)
                best = min((explain(engine, bound) for _ in range(RUNS)), key=sum)
                others = predicting(model, rows)
                figures = "".join(f"{seconds:>8.2f}" for seconds in (*best, sum(best)))
                ratio = others / sum(best)
                print(f"{title:<26}{count:>8,}{figures}  {others:,.0f} s, {ratio:,.0f} times")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\nSeconds on {engines.THREADS} threads. Ten times the rows: at most 12 times the time")
    print(f"is wanted. Most memory of all: {used:.2f} GB, training included (wanted: 2).")


if __name__ == "__main__":
    main()
