"""Parts of the speed table: benchmarks with rows in it, each measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from bench.speed_table.machine import busy_cores
from bench.speed_table.row import Row, Unit

ROOT = Path(__file__).parents[2]


class Benchmark(NamedTuple):
    """Module with a function `rows`, and what the page calls it."""

    module: str
    title: str


BENCHMARKS: Mapping[str, Benchmark] = {
    "interactions": Benchmark("bench.speed.r_hstats", "Interactions, beside R's hstats"),
    "command-line": Benchmark("bench.speed.command", "Command line"),
    "small-calls": Benchmark("bench.server.small_calls", "Small calls"),
    "server": Benchmark("bench.server.served_peer", "Calls per second, beside MLServer"),
    "many-rows": Benchmark("bench.speed.many_rows", "Trees and many rows, beside WOODELF"),
    "probabilities": Benchmark(
        "bench.speed.probabilities", "Pairs on probabilities, beside one descent per point"
    ),
    "full-forest": Benchmark("bench.speed.full_forest", "Forest of full trees, beside predicting"),
    "firm": Benchmark("bench.speed.firm", "FIRM, beside predicting"),
    "black-box": Benchmark("bench.speed.black_box", "Black box, beside bare onnxruntime"),
}
"""Benchmarks by the name of their part, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one benchmark, and how they were measured.

    Attributes
    ----------
    rows
        In the order of the page.
    begun
        UTC, to the minute.
    seconds
        Of the whole benchmark, with warm-up.
    busy_cores
        Cores that other processes used before the benchmark began.
    """

    rows: Sequence[Row]
    begun: str
    seconds: float
    busy_cores: float


def measure(name: str) -> Part:
    """Measure a part. Raises `subprocess.CalledProcessError` if the benchmark fails."""
    begun, busy = datetime.now(UTC).strftime("%Y-%m-%d %H:%M"), busy_cores()
    start = time.perf_counter()
    with tempfile.NamedTemporaryFile() as file:
        command = [
            sys.executable,
            "-m",
            "bench.speed_table.parts",
            BENCHMARKS[name].module,
            file.name,
        ]
        subprocess.run(command, check=True, cwd=ROOT)
        rows = [read_row(row) for row in json.load(file)]
    return Part(rows, begun, round(time.perf_counter() - start, 1), busy)


def read_row(fields: Mapping[str, Any]) -> Row:
    """Read a row of JSON."""
    return Row(**{**fields, "unit": Unit(fields["unit"])})


def _write(module: str, path: str) -> None:
    """Write the rows of a benchmark: what a process of `measure` does."""
    rows = [asdict(row) for row in import_module(module).rows()]
    Path(path).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    _write(*sys.argv[1:])
