"""Tables read in blocks: time, processor time and peak memory of methods as rows grow.

python -m bench.speed.streaming 1048576 4194304
python -m bench.speed.streaming 1048576 --methods partial_dependence average_loss firm
python -m bench.speed.streaming --campaign

Each measurement runs in a process of its own, from a Parquet file of ten features and a target that
this script writes in parts, on a boosted model of 300 trees, by the runner that the command line
uses. `interactions` are H² of the ten features and ten pairs. The campaign, of hours, asks for
interactions of 10 and of 100 million rows, and fails where a process takes 1.5 GB or more, or where
ten times the rows take more than eleven times the processor's seconds.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS, LargeTable

from bench.shared import engines, ensembles
from bench.shared.null_host import NullHost

WIDTH = 10
NAMES = tuple(f"x{j}" for j in range(WIDTH))
METHODS = ("interactions", "partial_dependence", "average_loss", "firm")
MEMORY_BYTES = 512 << 20
CAMPAIGN = (10_000_000, 100_000_000)
MAX_GB, MAX_GROWTH = 1.5, 11
_PART = 16 * BLOCK_ROWS


class Measured(NamedTuple):
    """Seconds, those of processors, and GB of this process before and at its peak."""

    seconds: float
    busy: float
    before: float
    peak: float


def write(path: Path, count: int) -> None:
    """Write rows in row groups of several blocks."""
    schema = pa.schema([*((name, pa.float32()) for name in NAMES), ("y", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, _PART):
            rows = ensembles.rows(min(_PART, count - start), WIDTH, 1 + start // _PART)
            columns = [pa.array(column) for column in rows.T]
            target = pa.array(ensembles.target(rows))
            writer.write_table(pa.Table.from_arrays([*columns, target], schema=schema))


def request_of(method: str) -> service_pb2.ExplainRequest:
    """Make a request without table."""
    request = service_pb2.ExplainRequest(plots=False, target_column="y")
    model = ensembles.to_onnx(ensembles.boosting(300, 5, WIDTH))
    request.model.content = model.SerializeToString()
    getattr(request.methods.add(), method).SetInParent()
    return request


def measure(path: Path, method: str) -> Measured:
    """Measure a method, in this process.

    Raises
    ------
    RuntimeError
        Where the answer rests on a sample.
    """
    request = request_of(method)
    runner = InProcess(engines.THREADS)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    start, used = time.perf_counter(), _processor_seconds()
    table = LargeTable(FileBlocks([path]), MEMORY_BYTES)
    reply = runner.answer(
        Call(ServiceMethod.EXPLAIN, request.SerializeToString()), NullHost(), table
    )
    seconds, busy = time.perf_counter() - start, _processor_seconds() - used
    runner.close()
    answer = service_pb2.ExplainResponse.FromString(reply.content)
    if "read in blocks" not in answer.receipt.engine_reason:
        raise RuntimeError(f"{method} rests on a sample: {answer.receipt.engine_reason}")
    return Measured(seconds, busy, before, _status("VmHWM"))


def measured(path: Path, method: str) -> Measured:
    """Measure a method in a process of its own."""
    command = [sys.executable, "-m", "bench.speed.streaming", "--measure", str(path), method]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Measured(*map(float, told.split()))


def table(counts: Sequence[int], methods: Sequence[str], folder: Path) -> list[Measured]:
    """Print a line per measurement, and return them; files take 45 bytes a row in `folder`."""
    heads = f"{'seconds':>10}{'processor':>12}{'GB before':>10}{'GB peak':>9}"
    print(f"{'rows':>12} {'method':20}{heads}", flush=True)
    lines = []
    for count in counts:
        path = folder / "rows.parquet"
        write(path, count)
        for method in methods:
            lines.append(line := measured(path, method))
            numbers = (
                f"{line.seconds:>10.1f}{line.busy:>12.1f}{line.before:>10.2f}{line.peak:>9.2f}"
            )
            print(f"{count:>12,} {method:20}{numbers}", flush=True)
        path.unlink()
    return lines


def campaign(folder: Path) -> None:
    """Measure 100 million rows, and fail where they take too much."""
    small, large = table(CAMPAIGN, ["interactions"], folder)
    growth = large.busy / small.busy
    print(f"growth of the processor's seconds: {growth:.2f}")
    if max(small.peak, large.peak) >= MAX_GB or growth > MAX_GROWTH:
        sys.exit(f"the bounds are {MAX_GB} GB, and {MAX_GROWTH} times the seconds")


def _status(field: str) -> float:
    """GB of a field of this process's status."""
    (found,) = re.findall(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(found) / 1e6


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", type=int)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["interactions"])
    parser.add_argument("--campaign", action="store_true")
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "METHOD"))
    asked = parser.parse_args()
    if asked.measure:
        print(*measure(Path(asked.measure[0]), asked.measure[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        if asked.campaign:
            campaign(Path(folder))
        else:
            table(asked.rows, asked.methods, Path(folder))


if __name__ == "__main__":
    main()
