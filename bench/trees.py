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

import ensembles
import numpy as np
import onnxruntime as ort
from nowhere import Nowhere
from onnx import ModelProto
from onnxplain_server.effects.background import Background, merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.rows import Features
from onnxplain_server.trees.crew import Crew
from onnxplain_server.trees.ensemble import Ensemble, read
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.forms import Leaves

THREADS = 2
RUNS = 3
PAIRED = 5
"""Features of which all pairs are computed: ten pairs."""

CASES: tuple[tuple[str, Callable[[], ModelProto], int, tuple[int, ...]], ...] = (
    ("boosted, 300 × depth 5", lambda: ensembles.boosted(300, 5, 10), 10, (500, 10_000, 100_000)),
    ("forest, 500 grown full", lambda: ensembles.forest(500, 10, 5_000), 10, (500, 5_000)),
    ("1,000 × 31 leaves", lambda: ensembles.many_small(1_000, 31, 50), 50, (100_000,)),
)


def background(rows: ensembles.Rows) -> Background:
    width = rows.shape[1]
    columns = tuple(rows.astype(np.float64).T)
    dtypes = (np.dtype(np.float32),) * width
    features = Features(tuple(f"x{j}" for j in range(width)), columns, dtypes, "rows")
    return merge(features, np.ones(len(rows)), np.arange(len(rows)))


def explain(ensemble: Ensemble, rows: Background, threads: ThreadPoolExecutor) -> list[float]:
    """Compute predictions, all single features and ten pairs; seconds for each of the three."""
    ledger = Ledger(Nowhere())
    leaves = Leaves(ensemble, Crew(threads, ledger))
    engine = Exact(leaves, rows, ("prediction",), np.array([0]), ledger, threads)
    times = [time.perf_counter()]
    engine.outputs()
    times.append(time.perf_counter())
    for _ in engine.single(range(len(rows.columns))):
        pass
    times.append(time.perf_counter())
    for _ in engine.joint(list(combinations(range(PAIRED), 2))):
        pass
    seconds: list[float] = np.diff([*times, time.perf_counter()]).tolist()
    return seconds


def predicting(model: ModelProto, rows: ensembles.Rows) -> float:
    """Hours that the same would take by predicting, from the time of some rows."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    some = rows[:20_000]
    session.run(None, {"rows": some[:100]})
    start = time.perf_counter()
    session.run(None, {"rows": some})
    seconds = (time.perf_counter() - start) / len(some)
    functions = 2 * rows.shape[1] + PAIRED * (PAIRED - 1) // 2
    return float(functions * len(rows) ** 2 * seconds)


def main() -> None:
    print(f"{'model':<26}{'rows':>8}{'sums':>8}{'single':>8}{'pairs':>8}{'all':>8}  predicting")
    with ThreadPoolExecutor(THREADS) as threads:
        for title, make, width, counts in CASES:
            model = make()
            ensemble = read(model)
            if not isinstance(ensemble, Ensemble):
                raise TypeError(ensemble.reason)
            explain(ensemble, background(ensembles.rows(64, width, 1)), threads)  # compiles
            for count in counts:
                rows = ensembles.rows(count, width, 1)
                bound = background(rows)
                best = min((explain(ensemble, bound, threads) for _ in range(RUNS)), key=sum)
                others = predicting(model, rows)
                figures = "".join(f"{seconds:>8.2f}" for seconds in (*best, sum(best)))
                ratio = others / sum(best)
                print(f"{title:<26}{count:>8,}{figures}  {others:,.0f} s, {ratio:,.0f} times")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\nSeconds on {THREADS} threads. Most memory of all: {used:.2f} GB, training included")


if __name__ == "__main__":
    main()
