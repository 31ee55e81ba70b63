"""Streamed trees engine: time, processor time and peak memory as rows grow.

python -m bench.speed.streaming 1000000 4000000

Each size runs in a process of its own: H² of ten features and ten pairs of a boosted model of 300
trees, from a Parquet file that this script writes in parts.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from onnxplain_server.adapters.runner.table_blocks import FileBlocks
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods import interactions
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming.block_effects import AffineOutputs
from onnxplain_server.trees.streaming.blocks import RowBlock
from onnxplain_server.trees.streaming.engine import StreamedTrees
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS

from bench.shared import engines, ensembles
from bench.shared.null_host import NullHost

WIDTH = 10
NAMES = tuple(f"x{j}" for j in range(WIDTH))
MEMORY_BYTES = 512 << 20
_PART = 16 * BLOCK_ROWS


class Rows:
    """Blocks of a file, all rows of weight 1."""

    def __init__(self, path: Path) -> None:
        self._blocks = FileBlocks([path])
        self.row_count = self._blocks.row_count

    def read(self, first: int, last: int) -> Iterator[RowBlock]:
        for row, table in self._blocks.read(first, last, NAMES):
            matrix = np.stack([table.stored[name] for name in NAMES], axis=1)
            source = np.arange(row, row + table.n_rows)
            features = engines.bind(matrix, NAMES)
            yield RowBlock(table.n_rows, merge(features, np.ones(table.n_rows), source))


def write(path: Path, count: int) -> None:
    """Write rows in row groups of several blocks."""
    schema = pa.schema([(name, pa.float32()) for name in NAMES])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, _PART):
            rows = ensembles.rows(min(_PART, count - start), WIDTH, 1 + start // _PART)
            columns = [pa.array(column.astype(np.float32)) for column in rows.T]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def measure(count: int) -> None:
    """Measure one size, in this process."""
    model = ensembles.to_onnx(ensembles.boosting(300, 5, WIDTH))
    options = interactions.resolve(interactions.Options(), NAMES, "")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(engines.THREADS) as threads:
        path = Path(folder) / "rows.parquet"
        write(path, count)
        ensemble = engines.trees(model, threads).ensemble
        outputs = AffineOutputs.of(ensemble, ("prediction",), np.array([0]))
        pool = BlockPool(threads, Ledger(NullHost()))
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        start, used = time.perf_counter(), _processor_seconds()
        trees = StreamedTrees(ensemble, Leaves(ensemble), Rows(path), outputs, pool, MEMORY_BYTES)
        interactions.compute_streamed(trees, NAMES, options)
        seconds, busy = time.perf_counter() - start, _processor_seconds() - used
        peak = _status("VmHWM")
    print(f"{count:>12,}{seconds:>10.1f}{busy:>12.1f}{before:>10.2f}{peak:>10.2f}", flush=True)


def _status(field: str) -> float:
    """GB of a field of this process's status."""
    (found,) = re.findall(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(found) / 1e6


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(counts: list[str]) -> None:
    print(
        f"{'rows':>12}{'seconds':>10}{'processor':>12}{'GB before':>10}{'GB peak':>10}", flush=True
    )
    for count in counts:
        command = [sys.executable, "-m", "bench.speed.streaming", "--measure", count]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(int(sys.argv[2]))
    else:
        main(sys.argv[1:])
