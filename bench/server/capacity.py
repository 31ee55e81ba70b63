"""Capacity of a server: throughput, latency and memory, as the tables of docs/operations.md.

Usage: python -m bench.server.capacity [SECONDS]    # of each measurement; 10 unless given
"""

from __future__ import annotations

import base64
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import json_format
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from bench.server import load_generator as generator
from bench.server.server_process import Server, served
from bench.shared.network import network
from tools.figures import SERVER_ROOMS, stamp

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
BEGIN, END = "<!-- By `make capacity` -->\n", "<!-- End -->\n"
CALLERS = (1, 8, 64)
TREES = (ROOT / "examples" / "miami" / "miami.onnx").read_bytes()
TREE_COLUMNS = (
    *("OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT"),
    *("structure_quality", "age", "month_sold"),
)


@dataclass(frozen=True, slots=True)
class Work:
    """Something to ask for: its name, and the request in canonical JSON."""

    name: str
    request: Mapping[str, Any]

    @property
    def message(self) -> bytes:
        """The request for gRPC."""
        return json_format.ParseDict(dict(self.request), ExplainRequest()).SerializeToString()

    @property
    def body(self) -> bytes:
        """The request for REST."""
        return json.dumps(self.request).encode()


def make_work(name: str, model: bytes, columns: Sequence[str], method: str, row_count: int) -> Work:
    rows = np.random.default_rng(1).normal(scale=1_000, size=(row_count, len(columns)))
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    request = {
        "model": {"content": base64.b64encode(model).decode()},
        "table": {"csv": base64.b64encode("\n".join(lines).encode()).decode()},
        "rowCount": row_count,
        "plots": False,
        "methods": [{method: {}}],
    }
    return Work(name, request)


_NETWORK_COLUMNS = [f"x{j}" for j in range(10)]
CURVES = make_work("6 curves, trees, 500 rows", TREES, TREE_COLUMNS, "partialDependence", 500)
PAIRS = make_work(
    "all pairs of 10, network, 100 rows", network(), _NETWORK_COLUMNS, "interactions", 100
)


def main(seconds: float = 10.0) -> None:
    """Measure, print, and write the page."""
    generator.build()
    head = ["", stamp(SERVER_ROOMS), "", _machine(), ""]
    found = "\n".join([*head, *_loads(seconds), "", *_sizes(seconds), ""])
    print(found)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{found}\n{END}{after}", encoding="utf-8")


def _machine() -> str:
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)", described, re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{len(os.sched_getaffinity(0))} cores of {model[1] if model else platform.processor()}, "
        f"{memory:.0f} GiB, Python {platform.python_version()}, "
        f"onnxruntime {version('onnxruntime')}; the callers run on the same cores."
    )


def _loads(seconds: float) -> Iterator[str]:
    """Requests per second and latency, by callers: closed loop, one server for each column."""
    yield "| Request | Surface | Cached | Callers | Requests/s | p50 ms | p95 ms | p99 ms |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for cached in (False, True):
        settings = {} if cached else {"cache_bytes": 0}
        with served(**settings) as server:
            for work in (CURVES, PAIRS):
                for surface, endpoint, request in (
                    ("gRPC", server.endpoint, work.message),
                    ("REST", server.explanations, work.body),
                ):
                    for callers in CALLERS:
                        generator.closed_loop(endpoint, request, min(1.0, seconds), callers)
                        calls = generator.closed_loop(endpoint, request, seconds, callers)
                        named = f"| {work.name} | {surface} | {'yes' if cached else 'no'} |"
                        yield f"{named} {_row(calls, callers, seconds)}"


def _row(calls: Sequence[generator.Call], callers: int, seconds: float) -> str:
    others = {each.code for each in calls} - generator.ANSWERS
    assert not others, others  # noqa: S101 - else it is no figure
    rate = generator.answers_per_second(calls, seconds)
    p50, p95, p99 = (
        1000 * np.quantile([each.seconds for each in calls], q) for q in (0.5, 0.95, 0.99)
    )
    return f"{callers} | {rate:.1f} | {p50:.1f} | {p95:.1f} | {p99:.1f} |"


def _sizes(seconds: float) -> Iterator[str]:
    """Measure rows per second and core, and memory of a worker with a model."""
    yield "| | |"
    yield "|---|--:|"
    for work in (CURVES, PAIRS):
        with served(cache_bytes=0, thread_count=1) as server:
            # The trees engine predicts no rows.
            asked = Work(work.name, {**work.request, "engine": "BLACK_BOX"})
            rate = _rows_per_second(server, asked, seconds)
            warm = server.metric("onnxplain_warm_bytes")
        yield f"| rows per second and core: {work.name} | {_rounded(rate):,} |"
        yield f"| memory of a process that waits with that model | {warm / 2**20:.0f} MiB |"


def _rows_per_second(server: Server, work: Work, seconds: float) -> float:
    """Of a server with one thread that calls the model, asked by one caller."""
    before = _predicted(server)
    calls = generator.closed_loop(server.endpoint, work.message, seconds, 1)
    return (_predicted(server) - before) / max(each.begun + each.seconds for each in calls)


def _predicted(server: Server) -> float:
    return server.metric("onnxplain_predicted_rows_total")


def _rounded(value: float) -> int:
    return int(float(f"{value:.2g}"))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
