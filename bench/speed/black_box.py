"""Black-box engine against bare onnxruntime, and against predictions in the manner of hstats.

Both sides of every ratio run in turn in this process, so that a machine whose
speed drifts does not decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.rows import Features, bind
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor

from bench.shared.network import WIDTHS, network
from bench.shared.null_host import NullHost
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds

RUNS = 5
REPEATS = 7
"""Repetitions within a run: one alone lasts a seventh of a second, too short for a steady rate."""
WARM_UP = 3
"""Runs in which the engine learns its call size, as a service does once per model."""
ROWS = 500
CALL_SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 65_000)
CALLERS = ((1, 1), (1, 2), (2, 1))
"""Side by side, and intra-op threads of each."""
PROFILE = (
    "What bare onnxruntime's rate loses on the way to the engine's, step by step, in November 2026 "
    "with other processes kept off the cores: writing rows and copying answers 1 %, the account of "
    "each call 4 %, an array for each block of predictions 2 %, averages 5 %, hand-over between "
    "threads 0 to 1 %, distinct values before the first call 4 %. Calls on fixed buffers take "
    "3 to 4 % less than bare calls, which is in the first step."
)


def session(content: bytes, intra_op_threads: int | None) -> ort.InferenceSession:
    options = ort.SessionOptions()
    if intra_op_threads:
        options.intra_op_num_threads = intra_op_threads
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def table(rows: int) -> Table:
    rng = np.random.default_rng(1)
    return Table({f"x{j}": rng.normal(size=rows) for j in range(WIDTHS[0])}, rows)


class Engine:
    """Our side: all H²_j effects of a table."""

    def __init__(self, content: bytes, threads: int = 2) -> None:
        self.model = load(content)
        self.batch_size = BatchSize()
        self.threads = ThreadPoolExecutor(threads)
        given = table(ROWS)
        self.features: Features = bind(self.model.inputs, given, (), ())

    def run(self) -> int:
        ledger = Ledger(NullHost())
        predictor = Predictor(self.model, np.arange(1), ledger, self.batch_size, self.threads)
        rows = np.arange(ROWS)
        effects = BlackBox(predictor, merge(self.features, np.ones(ROWS), rows), "RESPONSE")
        effects.outputs()
        list(effects.single(range(WIDTHS[0])))
        return ledger.predicted


def bare(content: bytes, rows: int) -> list[tuple[str, Callable[[], None]]]:
    """Bare onnxruntime on as many rows, in every setting."""
    sessions = {threads: session(content, threads) for threads in (1, 2)}
    return [
        (
            f"{callers} x {threads}, calls of {size}",
            side_by_side(sessions[threads], callers, size, rows // size // callers),
        )
        for callers, threads in CALLERS
        for size in CALL_SIZES
    ]


def side_by_side(
    runtime: ort.InferenceSession, callers: int, size: int, calls: int
) -> Callable[[], None]:
    """So many callers, each with so many calls of so many rows."""
    block = np.random.default_rng(2).normal(size=(size, WIDTHS[0])).astype(np.float32)

    def caller() -> None:
        for _ in range(calls):
            runtime.run(None, {"input": block})

    def run() -> None:
        with ThreadPoolExecutor(callers) as pool:
            for job in [pool.submit(caller) for _ in range(callers)]:
                job.result()

    return run


def stacked(content: bytes, features: Features) -> Callable[[], None]:
    """The way of hstats: for F_j and again for F_not-j, one call with all n · n rows."""
    default = session(content, None)
    rows = np.stack([column.astype(np.float32) for column in features.columns], axis=1)

    def run() -> None:
        default.run(None, {"input": rows})
        for j in range(rows.shape[1]):
            own = np.tile(rows, (ROWS, 1))
            own[:, j] = np.repeat(rows[:, j], ROWS)
            default.run(None, {"input": own})[0].reshape(ROWS, ROWS).mean(axis=1)
            others = np.repeat(rows, ROWS, axis=0)
            others[:, j] = np.tile(rows[:, j], ROWS)
            default.run(None, {"input": others})[0].reshape(ROWS, ROWS).mean(axis=1)

    return run


def rate(run: Callable[[], object], rows: int) -> float:
    """Rows per second of a function that predicts so many."""
    return REPEATS * rows / seconds(lambda: [run() for _ in range(REPEATS)])


def rows() -> Iterator[Row]:
    """Measure throughput beside bare onnxruntime, and time beside predictions as hstats makes."""
    content = network()
    engine = Engine(content)
    predicted = [engine.run() for _ in range(WARM_UP)][-1]
    setting, best = min(bare(content, predicted), key=lambda one: seconds(one[1]))
    ours, theirs = in_turn(lambda: rate(engine.run, predicted), lambda: rate(best, predicted), RUNS)
    yield Row(
        "rows predicted by the black-box engine for H²_j of 500 rows, network 10-64-64-1",
        Unit.PER_SECOND,
        ours,
        f"bare onnxruntime in its best setting: {setting} rows",
        theirs,
        wanted=0.85,
        note=PROFILE,
        headline="Rows predicted of a small network",
    )
    stacking = stacked(content, engine.features)
    stacking()
    ours, theirs = in_turn(lambda: seconds(engine.run), lambda: seconds(stacking), RUNS)
    yield Row(
        f"H²_j of 10 features, {ROWS} rows, network 10-64-64-1, by predicting",
        Unit.SECONDS,
        ours,
        "the same by one stacked onnxruntime call per function, as hstats",
        theirs,
        wanted=4.0,
    )


def main() -> None:
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
