"""Dask cluster: workers against threads of one process, and 64 simulated workers.

python -m bench.speed.cluster workers 2000000
python -m bench.speed.cluster predictions 500
python -m bench.speed.cluster predictions 1500 3
python -m bench.speed.cluster simulated

`workers` explains a file (H² of ten features, ten pairs, 300 trees) by one and two threads of this
process, and by one and two workers of one thread on a scheduler of their own; all answers have the
same bits. `predictions` does the same with a model that only predicts (the nearest of 2,000 rows)
on rows in memory: some 15 n² predictions. A last number repeats either: of so many rounds the
medians are compared. `simulated` runs an hour of tasks that sleep, as long as measured ones
compute, on 64 threads of workers, with sums of the measured size: what scheduler and client add.

All print the processor time that others used meanwhile: on a busy machine, compare processor
seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.adapters.cluster import dask_task
from onnxplain_server.adapters.cluster.dask_workers import DaskWorkers
from onnxplain_server.adapters.runner.blocks.shared_files import shared_file
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.model import Input
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.explain.streaming.remote_tasks import encoding, in_order
from onnxplain_server.explain.streaming.row_binding import RowBinding
from onnxplain_server.methods.interactions.streamed_measurement import SingleMoments
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.block_effects import AffineOutputs
from onnxplain_server.trees.streaming.blocks import (
    TASK_BLOCKS,
    CallingThread,
    add_up,
    task_ranges,
)
from onnxplain_server.trees.streaming.passes import CountPass, EffectsPass, TreeSums, run_task
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS, LargeTable, RemoteTable

from bench.shared import engines, ensembles
from bench.shared.dask_cluster import cluster
from bench.shared.neighbours import nearest_neighbours
from bench.shared.null_host import NullHost
from bench.shared.sleeping import sleep_task
from bench.speed.streaming import NAMES, WIDTH, request_of, write

MEMORY_BYTES = 1 << 30
SIMULATED_THREADS, SIMULATED_PROCESSES = 64, 4
TASK_SECONDS = 3_600.0
_WARM_UP_ROWS = 60


class Explained:
    """A model and rows in a file, explained by threads or workers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = FileBlocks([path])
        self._request = request_of("interactions").SerializeToString()

    def run(self, threads: int, workers: DaskWorkers | None = None) -> bytes:
        """Return the explanation's bytes."""
        remote = None if workers is None else RemoteTable((shared_file(self.path),), workers)
        table = LargeTable(self.rows, MEMORY_BYTES, remote)
        runner = InProcess(threads)
        reply = runner.answer(Call(ServiceMethod.EXPLAIN, self._request), NullHost(), table)
        runner.close()
        answer = service_pb2.ExplainResponse.FromString(reply.content)
        return answer.explanations[0].SerializeToString(deterministic=True)


class Predicted:
    """Nearest neighbours and rows in memory, explained by threads or by predictions of workers."""

    def __init__(self, count: int) -> None:
        rows = np.random.default_rng(0).normal(size=(WIDTH, count)).astype(np.float32)
        request = service_pb2.ExplainRequest(plots=False, row_count=count)
        request.model.content = nearest_neighbours(WIDTH)
        for name, values in zip(NAMES, rows, strict=False):
            request.table.columns.columns.add(name=name).numbers.extend(values.tolist())
        request.methods.add().interactions.pairwise_feature_count = 5
        self._request = request.SerializeToString()

    def run(self, threads: int, workers: DaskWorkers | None = None) -> bytes:
        """Return the explanation's bytes."""
        runner = InProcess(threads, workers=workers)
        reply = runner.answer(Call(ServiceMethod.EXPLAIN, self._request), NullHost())
        runner.close()
        answer = service_pb2.ExplainResponse.FromString(reply.content)
        return answer.explanations[0].SerializeToString(deterministic=True)


def measure_workers(count: int, rounds: int = 1) -> None:
    """Measure passes over a file."""
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "rows.parquet", Path(folder) / "small.parquet"
        write(path, count)
        write(small, BLOCK_ROWS)
        compare(Explained(path), Explained(small), rounds)


def compare(
    explained: Explained | Predicted, warm_up: Explained | Predicted, rounds: int = 1
) -> None:
    """Measure threads of this process, and workers."""
    warm_up.run(1)
    found: dict[str, list[tuple[float, float]]] = {}
    answers = set()
    print(f"{'':<12}{'seconds':>10}{'processor':>12}{'others':>10}", flush=True)
    for _ in range(rounds):
        for threads in (1, 2):
            answers.add(report(found, f"{threads} threads", partial(explained.run, threads)))
        for workers in (1, 2):
            with cluster(workers, 1) as dask:
                for _ in range(workers):
                    warm_up.run(1, dask.workers)
                run = partial(explained.run, 1, dask.workers)
                answers.add(report(found, f"{workers} workers", run))
    if len(answers) > 1:
        raise ValueError("answers differ")
    for unit, k in (("seconds", 0), ("processor seconds", 1)):
        middle = {name: median(each[k] for each in all_of) for name, all_of in found.items()}
        told = ", ".join(f"{name} {value:.1f}" for name, value in middle.items())
        ratio = middle["1 workers"] / middle["2 workers"]
        overhead = middle["2 workers"] / middle["2 threads"] - 1
        print(f"{unit}: {told}; one worker over two {ratio:.2f}, overhead {overhead:.1%}")


def report(
    found: dict[str, list[tuple[float, float]]], name: str, run: Callable[[], bytes]
) -> bytes:
    """Print what a run takes, and note it below its name."""
    wall, own, others, answer = timed(run)
    found.setdefault(name, []).append((wall, own))
    print(f"{name:<12}{wall:>10.1f}{own:>12.1f}{others:>10.1f}", flush=True)
    return answer


def timed(run: Callable[[], bytes]) -> tuple[float, float, float, bytes]:
    """Return seconds, processor seconds of this process and its children, of others, the answer."""
    start, own, all_of = time.perf_counter(), _own_seconds(), _machine_seconds()
    answer = run()
    wall = time.perf_counter() - start
    used = _own_seconds() - own
    return wall, used, _machine_seconds() - all_of - used, answer


def _own_seconds() -> float:
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def _machine_seconds() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system + times.nice)


def measure_tasks(path: Path) -> tuple[list[float], bytes]:
    """Return the processor seconds of tasks of a counting and an effects pass, and their sums."""
    codec, ledger = encoding(), Ledger(NullHost())
    pool, table = BlockPool(CallingThread(), ledger), FileBlocks([path])
    with ThreadPoolExecutor(1) as threads:
        model = ensembles.to_onnx(ensembles.boosting(300, 5, WIDTH))
        ensemble = engines.trees(model, threads).ensemble
    trees = TreeSums(ensemble, AffineOutputs.of(ensemble, ("prediction",), np.array([0])))
    binding = RowBinding((Input("X", "float", WIDTH),), (), ("y",), "", NAMES)
    leaves, groups = Leaves(ensemble), tuple((j,) for j in range(WIDTH))
    seconds: list[float] = []

    def run(work: Any) -> Any:
        summed = work.prepare(trees, leaves, pool)
        parts = []
        for task in task_ranges(table.row_count):
            start = time.thread_time()
            blocks = binding.read(table, *task, work.columns)
            parts.append(run_task(summed, blocks, pool, lambda _rows: None))
            seconds.append(time.thread_time() - start)
        return add_up(iter(parts))

    counts = run(CountPass(groups))
    reply = codec.encode(counts)
    run(EffectsPass(counts, groups, SingleMoments(tuple(range(WIDTH)))))
    return seconds, reply


def simulate() -> None:
    """Measure the efficiency of many workers, as far as scheduler and client determine it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, 4 * TASK_BLOCKS * BLOCK_ROWS)
        seconds, reply = measure_tasks(path)
    count = round(TASK_SECONDS / np.mean(seconds))
    asked = [seconds[i % len(seconds)] for i in range(count)]
    codec, ledger = encoding(), Ledger(NullHost())
    ranges = [(TASK_BLOCKS * i, TASK_BLOCKS * (i + 1)) for i in range(count)]
    threads = SIMULATED_THREADS // SIMULATED_PROCESSES
    with (
        patch.object(dask_task, "compute", sleep_task),
        cluster(SIMULATED_PROCESSES, threads) as dask,
    ):
        all_of, start, own = _machine_seconds(), time.perf_counter(), _own_seconds()
        with dask.workers.open(reply, json.dumps(seconds).encode(), []) as queue:
            in_turn = in_order(queue, ranges, 4 * SIMULATED_THREADS, ledger)
            add_up(codec.decode(sums) for _, sums in in_turn)
        wall, used = time.perf_counter() - start, _own_seconds() - own
        others = _machine_seconds() - all_of - used
    efficiency = sum(asked) / SIMULATED_THREADS / wall
    print(
        f"{count} tasks of {np.mean(seconds):.2f} s (from {min(seconds):.2f} to {max(seconds):.2f})"
    )
    print(f"sums of {len(reply):,} bytes; {SIMULATED_THREADS} threads: {wall:.1f} s")
    print(f"efficiency {efficiency:.3f}; processor {used:.1f} s, of others {others:.1f} s")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["workers", count, *rounds]:
            measure_workers(int(count), *map(int, rounds))
        case ["predictions", count, *rounds]:
            compare(Predicted(int(count)), Predicted(_WARM_UP_ROWS), *map(int, rounds))
        case ["simulated"]:
            simulate()
        case _:
            sys.exit(__doc__)
