"""Latency of a call over the wire: a cached explanation of 6 features, by Go and Python."""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import onnxplain

from bench.server.server_process import served

ROOT = Path(__file__).parents[2]
MIAMI = ROOT / "examples" / "miami"
FEATURES = [
    "OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold",
]  # fmt: skip
ROWS = 500
CALLS = 300


def by_python(endpoint: str, table: Path) -> list[list[float]]:
    """Return the seconds of each call, and those that the server computed; files are uploaded."""
    with onnxplain.connect(endpoint) as client:
        model, rows = client.upload_model(MIAMI / "miami.onnx"), client.upload_table(table)

        def call() -> list[float]:
            start = time.perf_counter()
            found = client.explain(
                model,
                rows,
                onnxplain.PartialDependence(),
                feature_columns=FEATURES,
                engine="BLACK_BOX",
                row_count=ROWS,
                plots=False,
            )
            elapsed = found.message.receipt.elapsed.ToTimedelta()
            return [time.perf_counter() - start, elapsed.total_seconds()]

        return [call() for _ in range(CALLS + 1)][1:]  # the first one computes


def by_go(endpoint: str, table: Path) -> list[list[float]]:
    """Likewise, by a program."""
    program = "build/clients/go/bench"
    subprocess.run(["make", "--silent", program], cwd=ROOT, check=True)
    command: list[str | Path] = [ROOT / program, endpoint, MIAMI / "miami.onnx", table, str(CALLS)]
    seconds: list[list[float]] = json.loads(subprocess.check_output(command))
    return seconds


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, served() as server:
        table = Path(folder) / "rows.csv"
        lines = gzip.decompress((MIAMI / "miami_housing.csv.gz").read_bytes()).splitlines(True)
        table.write_bytes(b"".join(lines[: ROWS + 1]))
        for name, measure in (("Python", by_python), ("Go", by_go)):
            found = measure(server.endpoint, table)
            whole = statistics.median(1e3 * each for each, _ in found)
            computed = statistics.median(1e3 * each for _, each in found)
            beyond = statistics.median(1e3 * (each - inside) for each, inside in found)
            print(f"{name}: median {whole:.2f} ms", end="")
            print(" (wanted: below 5)" if name == "Go" else "", end="")
            print(f", of it computed by the server {computed:.2f} ms, beyond it {beyond:.2f} ms")


if __name__ == "__main__":
    main()
