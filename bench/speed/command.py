"""Command line from a cold shell: wall time and peak memory of whole processes.

Beside it, a Python that only imports NumPy and onnxruntime, which any explanation needs; and R with
hstats, which predicts the same file (bench/speed/r_hstats.py). Files are in the system's cache and
Python's byte code is written, as on the second call of an installation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from onnxplain_server.trees.kernels.compiled_module import compiled_module

from bench.shared.commands import R_PYTHON
from bench.shared.processes import Process, run
from bench.speed import r_hstats
from bench.speed_table.row import Row, Unit

RUNS = 5
FILES = Path(__file__).parents[2] / "examples" / "miami" / "published"
ONNXPLAIN = (sys.executable, "-m", "onnxplain_server")
BARE = (sys.executable, "-c", "import numpy, onnxruntime")
HSTATS = "R's hstats over onnxruntime by reticulate: the same model, rows and statistics"
_WORK = "`onnxplain explain` from a cold shell, Miami, 500 rows, all interactions"
_EXAMPLE = "onnxplain explain, Miami, 500 rows, all interactions"
COMMANDS = {
    "onnxplain --help": (*ONNXPLAIN, "--help"),
    "onnxplain explain --help": (*ONNXPLAIN, "explain", "--help"),
    _EXAMPLE: (
        *(*ONNXPLAIN, "explain", str(FILES / "miami_xgboost.onnx"), str(FILES / "rows.csv")),
        *("--request", str(FILES / "interactions.json")),
    ),
}
WANTED = "Wanted: help within 0.2 s; the example within 1.0 s and 250 MB, five times of five."


def measure(
    command: tuple[str, ...], counterpart: tuple[str, ...] = BARE
) -> list[tuple[Process, Process]]:
    """Run a command and the counterpart in turn, after a first run that keeps what is compiled."""
    run(command)
    return [(run(command), run(counterpart)) for _ in range(RUNS)]


def kernels() -> str:
    """Tell where the machine code of the kernels comes from."""
    if compiled_module() is None:
        return "kernels by numba, from its cache (`make kernels` compiles them ahead of time)"
    return "kernels compiled ahead of time"


def rows() -> Iterator[Row]:
    """Yield wall time and peak memory of the example, beside bare imports and beside hstats."""
    note, example = f"{WANTED} Here: {kernels()}.", COMMANDS[_EXAMPLE]
    with TemporaryDirectory() as folder:
        for counterpart, command, headline in (
            ("importing NumPy and onnxruntime only", BARE, ""),
            (HSTATS, by_hstats(Path(folder)), "Command line, from start to end"),
        ):
            ours, theirs = zip(*measure(example, command), strict=True)
            for unit, name in ((Unit.SECONDS, "seconds"), (Unit.MEGABYTES, "megabytes")):
                figures, others = (
                    [getattr(each, name) for each in side] for side in (ours, theirs)
                )
                shown = headline if unit is Unit.SECONDS else ""
                yield Row(_WORK, unit, figures, counterpart, others, note=note, headline=shown)


def by_hstats(folder: Path) -> tuple[str, ...]:
    """Return the command by which R computes the same, over onnxruntime."""
    asked = (r_hstats.PUBLISHED, r_hstats.HOUSES, folder / "statistics.csv")
    python = f"RETICULATE_PYTHON={R_PYTHON}"
    return ("env", python, r_hstats.rscript(), str(r_hstats.SCRIPT), "ask", *map(str, asked))


def main() -> None:
    print(f"{'command':<54}{'s':>8}{'most':>8}{'MB':>8}{'bare s':>8}{'MB':>8}{'ratio':>8}")
    for title, command in COMMANDS.items():
        ours, bare = zip(*measure(command), strict=True)
        seconds, bare_seconds = (median(p.seconds for p in side) for side in (ours, bare))
        most = max(p.seconds for p in ours)
        memory, bare_memory = (max(p.megabytes for p in side) for side in (ours, bare))
        print(
            f"{title:<54}{seconds:>8.2f}{most:>8.2f}{memory:>8.0f}{bare_seconds:>8.2f}"
            f"{bare_memory:>8.0f}{seconds / bare_seconds:>8.1f}"
        )
    print(f"\nMedian and most of {RUNS} runs; {kernels()}. {WANTED}")


if __name__ == "__main__":
    main()
