"""Trees engine: time, and its growth with rows and trees.

Predicting is timed on some rows and extrapolated: no one would wait for it. It counts what
hstats asks for: for each feature both of its partial dependences, for each pair one, each at n
points on n rows.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import ModelProto
from onnxplain_server.effects.background import Background

from bench.shared import engines, ensembles

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


def peak(run: Callable[[], object]) -> float:
    """Most memory of the process while something runs, GB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak until here
    run()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(found) / 1e6


def line(model: ModelProto, engine: engines.Trees, rows: ensembles.Rows) -> str:
    """Measure one size of a table."""
    bound = engines.background(rows)
    best = min((explain(engine, bound) for _ in range(RUNS)), key=sum)
    used = peak(lambda: explain(engine, bound))
    others = predicting(model, rows)
    figures = "".join(f"{figure:>8.2f}" for figure in (*best, sum(best), used))
    return f"{len(rows):>8,}{figures}  {others:,.0f} s, {others / sum(best):,.0f} times"


def measure(case: int) -> None:
    """Measure a model with tables of all its sizes."""
    title, make, width, counts = CASES[case]
    model = ensembles.to_onnx(make())
    with ThreadPoolExecutor(engines.THREADS) as threads:
        engine = engines.trees(model, threads)
        explain(engine, engines.background(ensembles.rows(64, width, 1)))  # compiles
        for count in counts:
            print(f"{title:<26}" + line(model, engine, ensembles.rows(count, width, 1)))


def main() -> None:
    columns = ("rows", "sums", "single", "pairs", "all", "GB")
    print(f"{'model':<26}" + "".join(f"{title:>8}" for title in columns) + "  predicting")
    for case in range(len(CASES)):  # in processes of their own, for their memory
        sys.stdout.flush()
        subprocess.run([sys.executable, "-m", "bench.speed.trees", str(case)], check=True)
    print(f"\nSeconds on {engines.THREADS} threads; the most memory of the process meanwhile.")
    print("Wanted: at most 12 times the time for ten times the rows, and less than 2 GB.")


if __name__ == "__main__":
    if cases := sys.argv[1:]:
        measure(int(cases[0]))
    else:
        main()
