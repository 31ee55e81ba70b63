"""Programs that the page gives to copy, run as they are against the server that they ask."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import page_files
import pytest
from harness import Server
from page_journeys import walk

PORT = "127.0.0.1:8081"
"""gRPC's own port, which the server of the test has not."""


@pytest.fixture(scope="module")
def programs(root: Path, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copied programs, beside the files that they name."""
    folder = tmp_path_factory.mktemp("programs")
    page_files.write(folder)
    walk(root, "programs", server, folder, ONNXPLAIN_PROGRAMS=str(folder))
    (folder / "node_modules").symlink_to(root / "clients" / "web" / "node_modules")
    for path in folder.glob("asked.*"):
        text = path.read_text()
        assert (PORT in text) == (path.suffix != ".sh")
        path.write_text(text.replace(PORT, server.environment["ONNXPLAIN_ENDPOINT"]))
    return folder


def run(command: list[str], folder: Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd or folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(answer: str) -> list[str]:
    """The methods of an overview, in the JSON of an answer."""
    return [
        next(key for key in each if key in ORDER) for each in json.loads(answer)["explanations"]
    ]


ORDER = ("interactions", "partialDependence")


def test_curl_asks_as_the_page_does(programs: Path, program: Callable[[str], str]) -> None:
    program("curl")
    assert names(run(["sh", "asked.sh"], programs)) == [*ORDER]


def test_python_asks_as_the_page_does(programs: Path) -> None:
    assert names(run([sys.executable, "asked.py"], programs)) == [*ORDER]


def test_typescript_asks_as_the_page_does(root: Path, programs: Path) -> None:
    node = root / ".venv-proto" / "bin" / "node"
    assert names(run([str(node), "asked.mjs"], programs)) == [*ORDER]


def test_go_asks_as_the_page_does(
    root: Path, programs: Path, program: Callable[[str], str]
) -> None:
    command = [program("go"), "run", str(programs / "asked.go")]
    assert names(run(command, programs, root / "clients" / "go")) == [*ORDER]
