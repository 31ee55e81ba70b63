"""Footprint of a server: memory of its processes, time of its start, size of its packages.

Usage: python -m bench.server.footprint    # writes the table of docs/operations.md
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerKind, WorkerSettings
from onnxplain_server.trees import kernels
from onnxplain_server.trees.kernels.ahead_of_time import compile_kernels

from bench.server.server_process import served
from tools.figures import SERVER_ROOMS, stamp
from tools.slim import is_unused

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
BEGIN, END = "<!-- By `make footprint` -->\n", "<!-- End of the footprint -->\n"
STARTS = 5
SETTLED_SECONDS = 3.0
"""Time after which a server has its spare workers, and does nothing."""

LARGEST_COUNT = 6

_PURPOSES = {WorkerKind.COMPUTE: "compute", WorkerKind.DECODE: "decode"}


def main() -> None:
    """Measure, print, and write the page."""
    with _compiled_kernels():
        table = "\n".join(["", stamp(SERVER_ROOMS), "", *_rows(), ""])
    print(table)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{table}\n{END}{after}", encoding="utf-8")


@contextmanager
def _compiled_kernels() -> Iterator[None]:
    """Lend the checkout the compiled kernels that a wheel has."""
    files = compile_kernels(Path(kernels.__file__).parent)
    try:
        yield
    finally:
        for file in files:
            file.unlink()


def _rows() -> Iterator[str]:
    yield "| | |"
    yield "|---|--:|"
    starts, memory = [], {}
    for _ in range(STARTS):
        with served() as server:
            starts.append(server.start_seconds)
            time.sleep(SETTLED_SECONDS)
            memory = _by_process(server.pid)
    yield f"| start to ready, median of {STARTS} | {statistics.median(starts):.1f} s |"
    yield f"| memory of an idle server, with its processes | {_mebibytes(sum(memory.values()))} |"
    for name, size in memory.items():
        yield f"| of that: {name} | {_mebibytes(size)} |"
    sizes = _packages()
    yield f"| packages, as in the image, without bytecode | {_mebibytes(sum(sizes.values()))} |"
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:LARGEST_COUNT]
    for name, size in largest:
        yield f"| of that: {name} | {_mebibytes(size)} |"


def _by_process(pid: int) -> dict[str, int]:
    """Bytes of the server's processes; pages that several share are divided among them (PSS)."""
    memory = {"server process": _pss(pid)}
    for zygote in _children(pid):
        purpose = _PURPOSES[_kind(zygote)]
        memory[f"zygote, from which processes that {purpose} are forked"] = _pss(zygote)
        workers = [_pss(worker) for worker in _children(zygote)]
        for number, size in enumerate(workers, 1):
            memory[f"process {number} of {len(workers)} that will {purpose}"] = size
    return memory


def _kind(zygote: int) -> WorkerKind:
    """Read what a zygote's workers do from its command line."""
    words = Path(f"/proc/{zygote}/cmdline").read_text(encoding="utf-8").split("\0")
    (settings,) = (word for word in words if word.startswith("{"))
    return WorkerSettings.from_json(settings).kind


def _pss(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    size = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return 1024 * int(size[1]) if size else 0


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(child) for task in tasks for child in task.read_text().split())


def _packages() -> dict[str, int]:
    """Bytes that the image keeps of each package of the server's lock."""
    lock = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    sizes = {}
    for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE):
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue  # another platform's
        kept = (file for file in files if file.suffix != ".pyc" and not is_unused(file))
        sizes[name] = sum(Path(str(file.locate())).stat().st_size for file in kept)
    return sizes


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


if __name__ == "__main__":
    main()
