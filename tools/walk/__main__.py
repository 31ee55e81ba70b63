"""Walks of three questions through the service: calls, functions, files, depth, shapes.

    python -m tools.walk [cli] [rest] [grpc]

A table to standard output: for each walk and process, calls of own functions and those before the
first that computes, calls that are handed the request before that, distinct functions and files,
own frames on the stack where it computes, round trips to Redis, and classes that carry the
request. Times are not measured: the hook slows
all. Walks: the command line with a CSV file, partial dependence of one feature; the same over REST;
feature vectors over gRPC with a cache in Redis, if `redis-server` is installed, asked twice, of
which the second is counted where the name ends in "again".
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import onnxplain

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
    with _served(walk, {}) as (port, _):
        _post(port)  # a worker has been started, and all is imported
        yield "REST", walk.counted(lambda: _post(port))


def grpc(walk: Walk) -> Iterator[tuple[str, list[Counts]]]:
    """Ask for feature vectors over gRPC, with a cache in Redis."""
    with (
        _redis() as url,
        _served(walk, {"redis_url": url, "cache_secret": "walk" * 8}) as (_, port),
    ):
        client = onnxplain.connect(f"localhost:{port}")

        def ask() -> None:
            client.explain(str(MODEL), str(TABLE), "feature_vectors", target_column=TARGET)

        with client:
            yield "gRPC", walk.counted(ask)
            yield "gRPC again", walk.counted(ask)


WALKS = {"cli": command_line, "rest": rest, "grpc": grpc}


@contextmanager
def _served(walk: Walk, settings: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Start a server; yield its ports of REST and gRPC."""
    given = {"rest_port": "0", "grpc_port": "0", "metrics_port": "0", **settings}
    environment = walk.environment | {f"ONNXPLAIN_{k.upper()}": v for k, v in given.items()}
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", "serve"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            yield _ports(process)
        finally:
            process.kill()


def _ports(process: subprocess.Popen[str]) -> tuple[int, int]:
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"REST.*?:(\d+).*gRPC.*?:(\d+)", line):
            return int(found[1]), int(found[2])
    raise SystemExit("the server did not start:\n" + "".join(lines))


def _post(port: int) -> None:
    """Send model, table and options as a form."""
    options = {
        "methods": [{"partialDependence": {"features": [{"names": ["bmi"]}]}}],
        "targetColumn": TARGET,
    }
    parts = {
        'name="request"': json.dumps(options).encode(),
        'name="model"; filename="m.onnx"': MODEL.read_bytes(),
        'name="table"; filename="t.csv"': TABLE.read_bytes(),
    }
    body = b"".join(
        b"--walk\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + part + b"\r\n"
        for head, part in parts.items()
    )
    request = urllib.request.Request(
        f"http://localhost:{port}/v1/explanations",
        body + b"--walk--\r\n",
        {"Content-Type": "multipart/form-data; boundary=walk"},
    )
    with urllib.request.urlopen(request) as reply:  # noqa: S310 - an address of our own
        reply.read()


@contextmanager
def _redis() -> Iterator[str]:
    """Start a Redis without a port; yield its URL."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("redis-server is not installed: apt-get install redis-server")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        command = [program, "--port", "0", "--unixsocket", path, "--save", ""]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603
            while not Path(path).exists():
                time.sleep(0.05)
            try:
                yield f"unix://{path}"
            finally:
                process.kill()


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
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Walk, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("walks", nargs="*", choices=[[], *WALKS])
    chosen = parser.parse_args().walks or list(WALKS)
    print("| " + " | ".join(_HEADS) + " |", "|---" * len(_HEADS) + "|", sep="\n")  # noqa: T201
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            for title, counts in WALKS[name](Walk(Path(folder))):
                for number, one in enumerate(counts, 1):
                    print(_row(title, str(number), [one]), flush=True)  # noqa: T201
                print(_row(title, "all", counts), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
