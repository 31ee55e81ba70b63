"""Walks of three questions through the service: calls, functions, files, depth, shapes.

    python -m tools.walk [cli] [rest] [grpc]

A table to standard output: for each walk and process, calls of own functions and those before the
first that computes, calls that are handed the request before that, distinct functions and files,
own frames on the stack where it computes, round trips to Redis, and classes that carry the
request. Times are not measured: the hook slows all.

Walks: the command line with a CSV file, partial dependence of one feature; the same over REST;
feature vectors over gRPC with a cache in Redis, which needs `redis-server`, asked twice, of which
the second is counted where the name ends in "again".
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

import onnxplain
import urllib3
from urllib3.fields import RequestField

from bench.server.server_process import served
from bench.shared.redis_process import redis_server
from tools.walk.hook import COUNTING, IDLE, MEMORY_BYTES, WRITING, Counts, read

ROOT = Path(__file__).parents[2]
MODEL, TABLE = ROOT / "examples/vectors/diabetes.onnx", ROOT / "examples/vectors/diabetes.csv"
TARGET = "progression"
_SITE = """import sys
sys.path.append({root!r})
from pathlib import Path
from tools.walk.hook import Hook
sys.path.remove({root!r})
Hook(Path({memory!r})).install()
"""
_HEADS = (
    *("walk", "process", "calls", "before", "handed", "functions", "files", "depth", "trips"),
    "shapes",
)
_WRITE_SECONDS = 1.0


class Walk:
    """Processes that are watched, and the memory that they count into.

    Parameters
    ----------
    folder : Path
        Empty; the hook's module and the memory are written here.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "memory"
        path.write_bytes(bytes(MEMORY_BYTES))
        site = _SITE.format(root=str(ROOT), memory=str(path))
        (folder / "sitecustomize.py").write_text(site, encoding="utf-8")
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), MEMORY_BYTES)
        paths = (folder, ROOT / "service", ROOT / "clients/python")
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}

    def counted(self, ask: Callable[[], object]) -> list[Counts]:
        """Count what all processes do meanwhile."""
        self._memory[1:] = bytes(MEMORY_BYTES - 1)
        self._memory[0] = COUNTING
        ask()
        self._memory[0] = WRITING
        time.sleep(_WRITE_SECONDS)
        self._memory[0] = IDLE
        return list(read(self._memory))


def command_line(walk: Walk) -> Iterator[tuple[str, list[Counts]]]:
    """Explain one feature by a command."""
    command = [sys.executable, "-m", "onnxplain_server", "explain", str(MODEL), str(TABLE)]
    command += ["--method", "partial_dependence", "--set", "features=bmi"]
    command += ["--target-column", TARGET]
    command += ["--output", "json", "--no-plots"]

    def ask() -> None:
        subprocess.run(  # noqa: S603 - our own program
            command, check=True, stdout=subprocess.DEVNULL, env=walk.environment
        )

    yield "command line", walk.counted(ask)


def rest(walk: Walk) -> Iterator[tuple[str, list[Counts]]]:
    """Explain one feature by a form over REST."""
    with served(walk.environment) as server:
        _post(server.explanations)  # a worker has been started, and all is imported
        yield "REST", walk.counted(lambda: _post(server.explanations))


def grpc(walk: Walk) -> Iterator[tuple[str, list[Counts]]]:
    """Ask for feature vectors over gRPC, with a cache in Redis."""
    with (
        redis_server() as url,
        served(walk.environment, redis_url=url, cache_secret="walk" * 8) as server,
    ):
        client = onnxplain.connect(server.endpoint)

        def ask() -> None:
            client.explain(str(MODEL), str(TABLE), "feature_vectors", target_column=TARGET)

        with client:
            yield "gRPC", walk.counted(ask)
            yield "gRPC again", walk.counted(ask)


WALKS = {"cli": command_line, "rest": rest, "grpc": grpc}


def _post(address: str) -> None:
    """Send model, table and options as a form."""
    options = {
        "methods": [{"partialDependence": {"features": [{"names": ["bmi"]}]}}],
        "targetColumn": TARGET,
    }
    fields = [
        RequestField("request", json.dumps(options)),
        RequestField("model", MODEL.read_bytes(), "m.onnx"),
        RequestField("table", TABLE.read_bytes(), "t.csv"),
    ]
    for field in fields:
        field.make_multipart()
    reply = urllib3.request("POST", address, fields=fields)
    if reply.status != HTTPStatus.OK:
        raise SystemExit(f"REST: {reply.status}: {reply.data.decode()}")


def _row(walk: str, process: str, counts: list[Counts]) -> str:
    functions = {each[0]: None for one in counts for each in map(tuple, one.functions)}
    names = {tuple(each) for one in counts for each in one.functions}
    shapes = sorted({name for one in counts for name in one.shapes})
    cells = (
        *(walk, process, sum(one.call_count for one in counts)),
        *(sum(one.call_count_before for one in counts), sum(one.hand_count for one in counts)),
        *(len(names), len(functions)),
        *(sum(one.depth for one in counts), sum(one.round_trip_count for one in counts)),
        f"{len(shapes)}: {' '.join(shapes)}",
    )
    return _line(*cells)


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Walk, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("walks", nargs="*", choices=[[], *WALKS])
    chosen = parser.parse_args().walks or list(WALKS)
    _tell(_line(*_HEADS))
    _tell("|---" * len(_HEADS) + "|")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            for title, counts in WALKS[name](Walk(Path(folder))):
                for number, one in enumerate(counts, 1):
                    _tell(_row(title, str(number), [one]))
                _tell(_row(title, "all", counts))


if __name__ == "__main__":
    main()
